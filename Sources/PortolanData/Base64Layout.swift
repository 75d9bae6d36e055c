// SPDX-License-Identifier: Apache-2.0

/// What one pass over base64 text finds out: that it is well-formed, and how many bytes it stands for.
///
/// Source: WHATWG Infra, "forgiving-base64 decode".
struct Base64Layout: Sendable {
    let text: Base64Text

    /// How many bytes the text decodes to.
    let decodedCount: Int

    /// Judges all the text, and keeps none of it.
    init(validating text: Base64Text, in bytes: Span<UInt8>) throws(Base64Error) {
        self.text = text
        var symbols = 0
        var padding = Padding()
        let bytes = bytes.extracting(0..<text.range.upperBound)
        var position = text.range.lowerBound
        while position < bytes.count {
            if padding.count == 0 {
                let count = Self.symbolCount(in: bytes, from: position)
                symbols += count
                position += count
                guard position < bytes.count else { break }
            }
            let offset = position
            switch text.next(in: bytes, at: &position) {
            case .symbol where padding.count == 0: symbols += 1
            case .symbol: throw .characterAfterPadding(offset: offset)
            case .whitespace: break
            case .padding: padding.add(at: offset)
            case .foreign(let byte): throw .foreignCharacter(byte, offset: offset)
            }
        }
        if padding.count > 0 {
            let count = symbols + padding.count
            guard padding.count <= 2, count.isMultiple(of: 4) else { throw .wrongPadding(count: count, offset: padding.offset) }
        }
        guard symbols % 4 != 1 else { throw .incompleteGroup(count: symbols) }
        decodedCount = symbols / 4 * 3 + max(symbols % 4 - 1, 0)
    }

    private struct Padding {
        var count = 0
        var offset = 0

        mutating func add(at position: Int) {
            if count == 0 { offset = position }
            count += 1
        }
    }

    /// How many characters of the alphabet stand one after the other from `start` on, as far as that can be seen in whole blocks.
    @inline(__always)
    private static func symbolCount(in bytes: Span<UInt8>, from start: Int) -> Int {
        let size = ByteBlock.count
        var position = start
        while bytes.count - position >= 4 * size {
            let first = ByteBlock(bytes, at: position)
            let second = ByteBlock(bytes, at: position + size)
            let third = ByteBlock(bytes, at: position + 2 * size)
            let fourth = ByteBlock(bytes, at: position + 3 * size)
            guard first.isBase64(with: second, third, fourth) else { break }
            position += 4 * size
        }
        while bytes.count - position >= size {
            let prefix = ByteBlock(bytes, at: position).base64PrefixCount
            position += prefix
            guard prefix == size else { break }
        }
        return position - start
    }
}
