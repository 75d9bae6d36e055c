// SPDX-License-Identifier: Apache-2.0

/// Size limits for the parts of a response other than its body: heads, lines, chunk extensions and trailers.
///
/// A response that exceeds a limit fails with `LoadError.Code.limitExceeded`. Bytes are counted as received. Each line
/// of a section counts two bytes for its end, however it ends.
public struct HTTPLimits: Sendable, Hashable {
    /// Bytes of the status line.
    public var maximumStatusLineBytes = 8 << 10
    /// Bytes of one field line, including its continuation lines.
    public var maximumFieldLineBytes = 64 << 10
    /// Field lines in one section, which is a head or trailers. Values above 60,000 count as 60,000.
    public var maximumFieldCount = 1000
    /// Bytes of all field lines of a head.
    public var maximumFieldSectionBytes = 256 << 10
    /// Interim responses (1xx) before the final one.
    public var maximumInterimResponsesPerResponse = 32
    /// Bytes after the size on the line that starts a chunk, and leading zeros of the size.
    public var maximumChunkExtensionBytes = 4 << 10
    /// The same for all chunks of one body.
    public var maximumChunkExtensionBytesPerBody = 64 << 10
    /// Bytes of all trailer lines.
    public var maximumTrailerSectionBytes = 64 << 10

    public init() {}
}
