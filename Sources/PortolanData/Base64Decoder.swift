// SPDX-License-Identifier: Apache-2.0

/// Decodes validated base64 text in pieces.
///
/// The decoder does not retain the text. The caller passes the same bytes to each call.
///
/// Source: WHATWG Infra, "forgiving-base64 decode".
struct Base64Decoder: Sendable {
    private let text: Base64Text
    private var position: Int

    /// The number of decoded bytes that were not returned yet.
    private(set) var remaining: Int

    /// Bits that were read but do not form a byte yet: the lowest `bitCount` bits of `bits`.
    private var bits: UInt32 = 0
    private var bitCount = 0

    init(_ layout: Base64Layout) {
        text = layout.text
        position = layout.text.range.lowerBound
        remaining = layout.decodedCount
    }

    /// Decodes the next bytes into the buffer, until the text or the buffer ends.
    ///
    /// May overwrite bytes of the buffer after the decoded ones.
    ///
    /// - Returns: The number of decoded bytes.
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

    /// Decodes groups of four symbols while a block of sixteen bytes begins with such a group and the buffer has room.
    ///
    /// - Returns: The number of decoded bytes.
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
