// SPDX-License-Identifier: Apache-2.0

/// The result of one validation pass over base64 text. The text is well-formed, and its decoded size is known.
///
/// Source: WHATWG Infra, "forgiving-base64 decode".
struct Base64Layout: Sendable {
    let text: Base64Text

    /// The number of bytes that the text decodes to.
    let decodedCount: Int

    /// Validates the whole text. Does not retain it.
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

    /// Counts consecutive alphabet characters from `start` on. Reads whole blocks only, so it may miss characters at
    /// the end.
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
