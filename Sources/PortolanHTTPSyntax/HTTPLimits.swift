// SPDX-License-Identifier: Apache-2.0

/// Size limits for the parts of a response other than its body: heads, lines, chunk extensions and trailers.
///
/// If a response exceeds a limit, the load fails with `LoadError.Code.limitExceeded`. Bytes are counted as received.
/// The length of a line does not include its end. The size of a head or of trailers includes two bytes for each line
/// end, even for a line that ends with LF alone.
public struct HTTPLimits: Sendable, Hashable {
    /// The maximum length of the status line in bytes.
    public var maximumStatusLineBytes = 8 << 10
    /// The maximum length of one field line in bytes, including its continuation lines.
    public var maximumFieldLineBytes = 64 << 10
    /// The maximum number of field lines in a head or in trailers. Values above 60,000 count as 60,000.
    public var maximumFieldCount = 1000
    /// The maximum size of all field lines of a head, in bytes.
    public var maximumFieldSectionBytes = 256 << 10
    /// The maximum number of interim responses (1xx) before the final one. Those with the status 104, which report the
    /// progress of an upload, have 512 times this limit.
    public var maximumInterimResponsesPerResponse = 32
    /// The maximum number of bytes for the extensions of one chunk. Leading zeros of the chunk size also count.
    public var maximumChunkExtensionBytes = 4 << 10
    /// The maximum number of bytes for the extensions of all chunks of one body.
    public var maximumChunkExtensionBytesPerBody = 64 << 10
    /// The maximum size of all trailer lines, in bytes.
    public var maximumTrailerSectionBytes = 64 << 10

    public init() {}
}
