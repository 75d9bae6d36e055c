// SPDX-License-Identifier: Apache-2.0

/// Sixteen bytes that are tested and changed together.
///
/// Every operation compiles to vector instructions on baseline x86-64 and arm64. Both operands of a comparison are
/// vectors, because comparing a vector with a scalar compiles to a loop. No operation shuffles lanes. Masks are tested
/// as two words of 64 bits.
struct ByteBlock {
    typealias Lanes = SIMD16<UInt8>

    /// The number of bytes in a block.
    static let count = 16

    let lanes: Lanes

    /// Loads the sixteen bytes from `offset` on. They must lie inside `bytes`; this is a checked precondition.
    @inline(__always)
    init(_ bytes: Span<UInt8>, at offset: Int) {
        lanes = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Lanes.self)
    }

    /// Writes the block to the sixteen bytes from `offset` on. They must lie inside `buffer`; this is a checked
    /// precondition.
    @inline(__always)
    func store(to buffer: inout MutableSpan<UInt8>, at offset: Int) {
        var bytes = unsafe buffer.mutableBytes
        bytes.storeBytes(of: lanes, toByteOffset: offset, as: Lanes.self)
    }

    /// The number of bytes before the first byte that equals `byte`; sixteen if there is none.
    @inline(__always)
    func prefixCount(before byte: UInt8) -> Int {
        Self.prefixCount(of: lanes .!= Lanes(repeating: byte))
    }

    /// The number of leading lanes in which the mask is set.
    @inline(__always)
    static func prefixCount(of mask: SIMDMask<SIMD16<Int8>>) -> Int {
        let words = unsafe unsafeBitCast(mask, to: SIMD2<UInt64>.self)
        if words.x & words.y == .max { return count }
        // A lane is eight equal bits. The first lane is the lowest byte of a little-endian word.
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
