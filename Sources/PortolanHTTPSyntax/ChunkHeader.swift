// SPDX-License-Identifier: Apache-2.0

/// The bytes that frame the data of a chunked request body.
///
///     ChunkHeader.write(count: bytes.count, to: &output)   // 1f40 CR LF
///     … the bytes …
///     output.append(ChunkHeader.end.span)                  // CR LF
///     … and once, after the last chunk:
///     output.append(ChunkHeader.last.span)                 // 0 CR LF CR LF
///
/// RFC 9112 §7.1
package enum ChunkHeader {
    /// The length of the longest size line in bytes: 16 digits and the line end.
    package static let maximumLength = 18
    /// The line end after the data of each chunk.
    package static let end: [UInt8] = [.carriageReturn, .lineFeed]
    /// The last chunk, with size 0 and no trailers. It ends the body.
    package static let last: [UInt8] = Array("0\r\n\r\n".utf8)

    /// Appends the line that starts a chunk of `count` bytes. `count` is at least 1, because an empty chunk would end
    /// the body.
    package static func write(count: Int, to output: inout OutputRawSpan) {
        precondition(count > 0, "a chunk of no bytes ends the body")
        var shift = (Int.bitWidth - count.leadingZeroBitCount - 1) / 4 * 4
        while shift >= 0 {
            let digit = UInt8(truncatingIfNeeded: count >> shift & 15)
            output.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
            shift -= 4
        }
        output.append(.carriageReturn)
        output.append(.lineFeed)
    }
}
