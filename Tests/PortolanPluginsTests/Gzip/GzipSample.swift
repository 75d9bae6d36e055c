// SPDX-License-Identifier: Apache-2.0

/// Writes gzip files without zlib, so that the samples can't repeat an error of zlib (RFC 1951, RFC 1952).
struct GzipSample {
    var name: String?
    var extra: [UInt8]?
    var comment: String?
    var hasHeaderCheck = false

    /// A member with `contents` in stored blocks.
    func member(_ contents: [UInt8]) -> [UInt8] {
        var blocks: [UInt8] = []
        var remainingContents = contents[...]
        repeat {
            let block = remainingContents.prefix(Int(UInt16.max))
            remainingContents = remainingContents.dropFirst(block.count)
            let length = UInt16(block.count)
            blocks += [remainingContents.isEmpty ? 1 : 0] + Self.bytes(length) + Self.bytes(~length) + block
        } while !remainingContents.isEmpty
        return header + blocks + Self.bytes(Self.crc(contents)) + Self.bytes(UInt32(truncatingIfNeeded: contents.count))
    }

    /// A member with `count` zeros, at least one, in a block of fixed codes: 13 bits for each 258 zeros.
    func zeros(_ count: Int) -> [UInt8] {
        var bits = BitWriter()
        bits.append(0b110, count: 3)  // the last block, fixed codes
        let literal = (UInt32(0b0011_0000), 8)
        bits.append(literal.0, count: literal.1)
        for _ in 0..<(count - 1) / 258 {
            bits.append(0b1100_0101, count: 8)  // 258 bytes …
            bits.append(0, count: 5)  // … from one byte before
        }
        for _ in 0..<(count - 1) % 258 { bits.append(literal.0, count: literal.1) }
        bits.append(0, count: 7)
        let check = Self.crc([UInt8](repeating: 0, count: count))
        return header + bits.bytes + Self.bytes(check) + Self.bytes(UInt32(truncatingIfNeeded: count))
    }

    private var header: [UInt8] {
        let flags: UInt8 = (hasHeaderCheck ? 2 : 0) | (extra == nil ? 0 : 4) | (name == nil ? 0 : 8) | (comment == nil ? 0 : 16)
        var header: [UInt8] = [0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 255]
        if let extra { header += Self.bytes(UInt16(extra.count)) + extra }
        for text in [name, comment] {
            if let text { header += Array(text.utf8) + [0] }
        }
        if hasHeaderCheck { header += Self.bytes(UInt16(truncatingIfNeeded: Self.crc(header))) }
        return header
    }

    private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private static let crcTable: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        let crcTable = crcTable
        return ~bytes.reduce(~0) { crcTable[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
    }

    /// Fills each byte from its lowest bit, and writes codes with the highest bit first.
    private struct BitWriter {
        var bytes: [UInt8] = []
        private var usedBitCount = 8

        mutating func append(_ code: UInt32, count: Int) {
            for bit in (0..<count).reversed() {
                if usedBitCount == 8 {
                    bytes.append(0)
                    usedBitCount = 0
                }
                bytes[bytes.count - 1] |= UInt8(code >> bit & 1) << usedBitCount
                usedBitCount += 1
            }
        }
    }
}
