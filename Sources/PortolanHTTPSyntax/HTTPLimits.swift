// SPDX-License-Identifier: Apache-2.0

/// How much a server may send of what it is not asked for in bytes: heads, lines, chunk extensions, trailers.
///
/// A response that goes beyond one fails with `LoadError.Code.limitExceeded`. Bytes are counted as received; each line of a section
/// counts with two bytes for its end, however it ends.
public struct HTTPLimits: Sendable, Hashable {
    /// Bytes of the status line.
    public var statusLine = 8 << 10
    /// Bytes of one field line, together with the lines that continue it.
    public var fieldLine = 64 << 10
    /// Field lines in one section: a head, or the trailers. Above 60,000 it is 60,000.
    public var fieldCount = 1000
    /// Bytes of all field lines of a head.
    public var fieldSection = 256 << 10
    /// Responses before the final one.
    public var interimResponses = 32
    /// Bytes after the size on a line that starts a chunk, and zeros in front of the size.
    public var chunkExtensions = 4 << 10
    /// The same, of all chunks of one body.
    public var chunkExtensionsTotal = 64 << 10
    /// Bytes of all trailer lines.
    public var trailerSection = 64 << 10

    public init() {}
}
