// SPDX-License-Identifier: Apache-2.0

/// How one kind of component is parsed: which bytes end it, and which are percent-encoded in it.
struct ComponentRule: Sendable {
    /// Bytes that end the component or the path segment.
    let ends: ByteSet
    /// All bytes that interrupt reading: an end, or a byte to encode.
    let stops: ByteSet
    private let prefilter: Prefilter?

    /// A cheap test of many bytes at once that flags each stop, and possibly a few other bytes.
    ///
    /// It flags bytes below `floor`, bytes above 0x7E, and the three bytes in `others`. In these, 0x7F fills unused
    /// places, because it is flagged anyway.
    fileprivate struct Prefilter {
        let floor: UInt8
        let others: (UInt8, UInt8, UInt8)
    }

    private init(ends: String, encoding set: ByteSet, prefilter: Prefilter? = nil) {
        self.ends = ByteSet(ends)
        self.stops = set.union(ends)
        self.prefilter = prefilter
    }

    // Path segments and user information are short. They are read byte by byte, and need no prefilter.
    static let userinfo = ComponentRule(ends: "", encoding: .userinfoSet)
    static let path = ComponentRule(ends: "/?#", encoding: .pathSet)
    static let specialPath = ComponentRule(ends: "/\\?#", encoding: .pathSet)
    static let opaquePath = ComponentRule(
        ends: "?#", encoding: .c0ControlSet, prefilter: Prefilter(floor: 0x20, others: (UInt8(ascii: "?"), UInt8(ascii: "#"), 0x7F)))
    static let query = ComponentRule(
        ends: "#", encoding: .querySet, prefilter: Prefilter(floor: 0x24, others: (UInt8(ascii: "<"), UInt8(ascii: ">"), 0x7F)))
    static let specialQuery = ComponentRule(
        ends: "#", encoding: .specialQuerySet,
        prefilter: Prefilter(floor: 0x24, others: (UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "'"))))
    static let fragment = ComponentRule(
        ends: "", encoding: .fragmentSet,
        prefilter: Prefilter(floor: 0x23, others: (UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "`"))))
}

extension ComponentRule {
    /// Finds the first byte of `range` that is in `stops`.
    ///
    /// Reads 64 bytes one by one, then skips as many blocks of 64 bytes as the prefilter allows, and repeats this.
    /// Short components therefore never use the prefilter, and long components without a flagged byte are skipped at
    /// about ten bytes per nanosecond.
    ///
    /// - Returns: its offset, or the end of the range.
    func firstStop(in source: Span<UInt8>, range: Range<Int>) -> Int {
        var offset = range.lowerBound
        while offset < range.upperBound {
            let blockEnd = min(offset + Prefilter.blockLength, range.upperBound)
            while offset < blockEnd {
                if stops.contains(source[offset]) { return offset }
                offset += 1
            }
            if let prefilter { offset = prefilter.skipUnflagged(in: source, range: offset..<range.upperBound) }
        }
        return range.upperBound
    }
}

extension ComponentRule.Prefilter {
    /// The length of a block in bytes.
    static let blockLength = 64

    /// Skips whole blocks of 64 bytes up to the first one with a flagged byte.
    ///
    /// - Returns: the offset of that block, or of the rest that is shorter than a block.
    func skipUnflagged(in source: Span<UInt8>, range: Range<Int>) -> Int {
        typealias Lanes = SIMD16<UInt8>
        let floors = Lanes(repeating: floor)
        let highest = Lanes(repeating: 0x7E - floor)
        let (first, second, third) = (Lanes(repeating: others.0), Lanes(repeating: others.1), Lanes(repeating: others.2))
        let bytes = unsafe source.bytes
        var offset = range.lowerBound
        while range.upperBound - offset >= Self.blockLength {
            var flagged = SIMDMask<SIMD16<Int8>>(repeating: false)
            for lanes in 0..<4 {
                let block = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset + 16 * lanes, as: Lanes.self)
                // One comparison for both limits: below the floor the subtraction wraps around to a large number.
                flagged .|= (block &- floors .> highest) .| (block .== first) .| (block .== second) .| (block .== third)
            }
            // Tests the mask as two 64-bit words. `any(_:)` of the standard library is not inlined, and took half of
            // the time of this loop.
            let words = unsafe unsafeBitCast(flagged, to: SIMD2<UInt64>.self)
            if words.x | words.y != 0 { return offset }
            offset += Self.blockLength
        }
        return offset
    }
}
