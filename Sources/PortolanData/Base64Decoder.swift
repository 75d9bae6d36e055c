// SPDX-License-Identifier: Apache-2.0

/// Decodes base64 text, found well-formed before, in pieces.
///
/// The text is not kept: each call is handed the same bytes.
///
/// Source: WHATWG Infra, "forgiving-base64 decode".
struct Base64Decoder: Sendable {
    private let text: Base64Text
    private var position: Int

    /// How many bytes have not been given out yet.
    private(set) var remaining: Int

    /// Bits that were read and do not make a byte yet: the lowest `bitCount` of `bits`.
    private var bits: UInt32 = 0
    private var bitCount = 0

    init(_ layout: Base64Layout) {
        text = layout.text
        position = layout.text.range.lowerBound
        remaining = layout.decodedCount
    }

    /// Decodes the next bytes into the buffer, as many as there are and as it holds, and says how many they were.
    ///
    /// Of the buffer after those bytes, some may be overwritten.
    mutating func decode(_ bytes: Span<UInt8>, into buffer: inout MutableSpan<UInt8>) -> Int {
        let bytes = bytes.extracting(0..<text.range.upperBound)
        let room = min(buffer.count, remaining)
        var written = 0
        while written < room, position < bytes.count {
            if bitCount == 0 {
                let count = decodeBlocks(bytes, into: &buffer, from: written)
                written += count
                if count > 0 { continue }
            }
            guard case .symbol(let value) = text.next(in: bytes, at: &position) else { continue }
            bits = bits << 6 | UInt32(value)
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                buffer[written] = UInt8(truncatingIfNeeded: bits >> UInt32(bitCount))
                written += 1
            }
        }
        remaining -= written
        return written
    }

    /// Decodes symbols four by four while blocks of sixteen begin with such and there is room, and says how many bytes they gave.
    @inline(__always)
    private mutating func decodeBlocks(_ bytes: Span<UInt8>, into buffer: inout MutableSpan<UInt8>, from start: Int) -> Int {
        guard ByteBlock.decodesBase64 else { return 0 }
        var position = self.position
        var written = start
        while bytes.count - position >= ByteBlock.count, buffer.count - written >= ByteBlock.base64DecodedRoom {
            let block = ByteBlock(bytes, at: position)
            let groups = block.base64PrefixCount / 4
            block.storeBase64Decoded(to: &buffer, at: written)
            position += groups * 4
            written += groups * 3
            guard groups == ByteBlock.count / 4 else { break }
        }
        self.position = position
        return written - start
    }
}
