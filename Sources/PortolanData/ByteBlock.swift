// SPDX-License-Identifier: Apache-2.0

/// Sixteen bytes that are judged and changed together.
///
/// Every operation here is one that compiles to vector instructions on the plainest x86-64 and arm64: both operands of a comparison are
/// vectors (comparing a vector with a scalar compiles to a loop), nothing shuffles, and masks are tested as two words.
struct ByteBlock {
    typealias Lanes = SIMD16<UInt8>

    static let count = 16

    let lanes: Lanes

    /// Takes the sixteen bytes from `offset` on, which must lie inside `bytes`: a precondition, checked.
    @inline(__always)
    init(_ bytes: Span<UInt8>, at offset: Int) {
        lanes = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Lanes.self)
    }

    /// Writes the block to the sixteen bytes from `offset` on, which must lie inside `buffer`: a precondition, checked.
    @inline(__always)
    func store(to buffer: inout MutableSpan<UInt8>, at offset: Int) {
        var bytes = unsafe buffer.mutableBytes
        bytes.storeBytes(of: lanes, toByteOffset: offset, as: Lanes.self)
    }

    /// How many bytes stand before the first that is the given one; all sixteen if none is.
    @inline(__always)
    func prefixCount(before byte: UInt8) -> Int {
        Self.prefixCount(of: lanes .!= Lanes(repeating: byte))
    }

    /// In how many lanes, counted from the first, the mask is set without a gap.
    @inline(__always)
    static func prefixCount(of mask: SIMDMask<SIMD16<Int8>>) -> Int {
        let words = unsafe unsafeBitCast(mask, to: SIMD2<UInt64>.self)
        if words.x & words.y == .max { return count }
        // A lane is eight bits alike, the first lane the lowest ones of a little-endian word.
        let unset = words.x == .max ? ~words.y.littleEndian : ~words.x.littleEndian
        return (words.x == .max ? count / 2 : 0) + unset.trailingZeroBitCount / 8
    }

    /// Whether the mask is set in every lane.
    @inline(__always)
    static func isAll(_ mask: SIMDMask<SIMD16<Int8>>) -> Bool {
        let words = unsafe unsafeBitCast(mask, to: SIMD2<UInt64>.self)
        return words.x & words.y == .max
    }
}
