// SPDX-License-Identifier: Apache-2.0

/// Percent-decodes a range of text in pieces.
///
/// The decoder does not retain the text. The caller passes the same text to each call. A percent sign that starts no
/// escape is passed on unchanged.
///
/// Source: WHATWG URL, "percent-decode".
struct PercentDecoder: Sendable {
    private var position: Int
    private let end: Int

    init(_ range: Range<Int>) {
        position = range.lowerBound
        end = range.upperBound
    }

    /// The number of bytes that the range decodes to. It equals the length of the range if, and only if, there is no
    /// escape.
    static func decodedCount(of range: Range<Int>, in text: Span<UInt8>) -> Int {
        let text = text.extracting(0..<range.upperBound)
        var count = range.count
        var position = range.lowerBound
        while position < text.count {
            if text[position] != PercentEscape.sign, text.count - position >= ByteBlock.count {
                let prefix = ByteBlock(text, at: position).prefixCount(before: PercentEscape.sign)
                position += prefix
                continue
            }
            if PercentEscape.byte(in: text, at: position) == nil {
                position += 1
            } else {
                position += PercentEscape.length
                count -= PercentEscape.length - 1
            }
        }
        return count
    }

    /// Decodes the next bytes into the buffer, until the text or the buffer ends.
    ///
    /// May overwrite bytes of the buffer after the decoded ones.
    ///
    /// - Returns: The number of decoded bytes.
    mutating func decode(_ text: Span<UInt8>, into buffer: inout MutableSpan<UInt8>) -> Int {
        let text = text.extracting(0..<end)
        var written = 0
        while position < end, written < buffer.count {
            if text[position] != PercentEscape.sign, end - position >= ByteBlock.count, buffer.count - written >= ByteBlock.count {
                let block = ByteBlock(text, at: position)
                let prefix = block.prefixCount(before: PercentEscape.sign)
                block.store(to: &buffer, at: written)
                position += prefix
                written += prefix
                continue
            }
            if let byte = PercentEscape.byte(in: text, at: position) {
                buffer[written] = byte
                position += PercentEscape.length
            } else {
                buffer[written] = text[position]
                position += 1
            }
            written += 1
        }
        return written
    }
}
