// SPDX-License-Identifier: Apache-2.0

extension ByteBlock {
    /// The lanes that hold a character of the base64 alphabet (RFC 4648, table 1).
    @inline(__always)
    private var base64Mask: SIMDMask<SIMD16<Int8>> {
        // Wrapping subtraction makes each range start at 0, so that one unsigned comparison decides it. '/' stands just
        // before '0'.
        let letters: Lanes = (lanes | Lanes(repeating: 0x20)) &- Lanes(repeating: 0x61)
        let slashAndDigits: Lanes = lanes &- Lanes(repeating: 0x2F)
        let isLetter = letters .< Lanes(repeating: 26)
        let isSlashOrDigit = slashAndDigits .< Lanes(repeating: 11)
        let isPlus = lanes .== Lanes(repeating: 0x2B)
        return isLetter .| isSlashOrDigit .| isPlus
    }

    /// The number of leading bytes that are characters of the base64 alphabet.
    @inline(__always)
    var base64PrefixCount: Int {
        Self.prefixCount(of: base64Mask)
    }

    /// Whether all characters of this block and the three others are in the base64 alphabet.
    @inline(__always)
    func isBase64(with second: ByteBlock, _ third: ByteBlock, _ fourth: ByteBlock) -> Bool {
        Self.isAll(base64Mask .& second.base64Mask .& third.base64Mask .& fourth.base64Mask)
    }

    /// The number of bytes that `storeBase64Decoded` writes: the decoded bytes, and two zeros after them.
    static let base64DecodedRoom = 14

    /// Whether `storeBase64Decoded` works on this machine. It requires a little-endian processor.
    static var decodesBase64: Bool { 1.littleEndian == 1 }

    /// Decodes sixteen characters of the base64 alphabet into the twelve bytes from `offset` on. If only the first
    /// characters are of the alphabet, each complete group of four still gives its three bytes.
    ///
    /// Overwrites two more bytes. All fourteen bytes must lie inside `buffer`; this is a checked precondition.
    @inline(__always)
    func storeBase64Decoded(to buffer: inout MutableSpan<UInt8>, at offset: Int) {
        let halves = Self.joined(base64Values)
        var bytes = unsafe buffer.mutableBytes
        bytes.storeBytes(of: halves.x.bigEndian, toByteOffset: offset, as: UInt64.self)
        bytes.storeBytes(of: halves.y.bigEndian, toByteOffset: offset + 6, as: UInt64.self)
    }

    /// The value of each character, 0 to 63.
    @inline(__always)
    private var base64Values: Lanes {
        // In ASCII order the alphabet is + / 0–9 A–Z a–z. The first offset is right for digits. Each following line
        // corrects it for one part.
        let zero = Lanes(repeating: 0)
        var values: Lanes = lanes &+ Lanes(repeating: 4)
        values = values &- zero.replacing(with: Lanes(repeating: 69), where: lanes .> Lanes(repeating: 0x40))
        values = values &- zero.replacing(with: Lanes(repeating: 6), where: lanes .> Lanes(repeating: 0x60))
        values = values &+ zero.replacing(with: Lanes(repeating: 15), where: lanes .== Lanes(repeating: 0x2B))
        values = values &+ zero.replacing(with: Lanes(repeating: 12), where: lanes .== Lanes(repeating: 0x2F))
        return values
    }

    /// Joins sixteen lanes of six bits into the upper 48 bits of two words. Joins pairs of lanes to 12 bits, pairs of
    /// these to 24 bits, and pairs of these to 48 bits.
    @inline(__always)
    private static func joined(_ values: Lanes) -> SIMD2<UInt64> {
        let fours = unsafe unsafeBitCast(values, to: SIMD4<UInt32>.self)
        let evenBytes = SIMD4<UInt32>(repeating: 0x00FF_00FF)
        let first: SIMD4<UInt32> = (fours & evenBytes) &<< SIMD4<UInt32>(repeating: 6)
        let second: SIMD4<UInt32> = (fours &>> SIMD4<UInt32>(repeating: 8)) & evenBytes
        let pairs: SIMD4<UInt32> = first | second
        let upper: SIMD4<UInt32> = pairs &<< SIMD4<UInt32>(repeating: 12)
        let lower: SIMD4<UInt32> = pairs &>> SIMD4<UInt32>(repeating: 16)
        let triples = unsafe unsafeBitCast(upper | lower, to: SIMD2<UInt64>.self)
        // The shift by twelve leaves stray bits above the 24 bits. The shift in the first line drops them. The mask in
        // the second line clears them.
        let front: SIMD2<UInt64> = triples &<< SIMD2<UInt64>(repeating: 40)
        let back: SIMD2<UInt64> = (triples &>> SIMD2<UInt64>(repeating: 16)) & SIMD2<UInt64>(repeating: 0xFF_FFFF_0000)
        return front | back
    }
}
