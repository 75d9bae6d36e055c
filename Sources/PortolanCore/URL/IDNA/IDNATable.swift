// SPDX-License-Identifier: Apache-2.0

/// What UTS 46 and the rules that it calls upon have to know of each code point.
///
/// The tables are arrays of integers that the optimiser turns into constant data: nothing is built when a program starts. In each, the low 21
/// bits of a record are a code point. Where records are runs, one ends where the next starts.
///
/// Code points that are not valid by UTS 46 have whatever properties those before them have: no rule comes to them.
///
/// - Complexity: a binary search for each question.
enum IDNATable {
    /// Bits 21 to 23 of `mapping`; what the bits from 24 on, the value, mean.
    enum MappingStatus: UInt8 {
        case valid, disallowed, ignored
        /// The run is mapped to a run that starts at the value.
        case mappedToRun
        /// The first and every second are mapped to the one that follows, which is valid: capital and small letters in turn.
        case mappedToNext
        /// Each is mapped to as many of `mappingTargets` as bits 40 on say; those of the first start where bits 24 to 39 say.
        case mappedToSequence
    }

    /// Appends what a code point is mapped to, nothing if it is ignored, or itself if it is valid.
    ///
    /// - Returns: whether it is allowed.
    static func map(_ codePoint: UInt32, into output: inout [UInt32]) -> Bool {
        let record = run(holding: codePoint, in: mapping)
        let distance = codePoint &- start(of: record)
        let value = UInt32(truncatingIfNeeded: record >> 24)
        switch status(in: record) {
        case .valid: output.append(codePoint)
        case .disallowed: return false
        case .ignored: break
        case .mappedToRun: output.append(value & 0x1F_FFFF + distance)
        case .mappedToNext: output.append(codePoint + (distance + 1) % 2)
        case .mappedToSequence:
            let length = Int(value >> 16)
            let first = Int(value & 0xFFFF) + Int(distance) * length
            output += mappingTargets[first..<first + length]
        }
        return true
    }

    /// How a code point that is by itself is treated.
    static func status(of codePoint: UInt32) -> MappingStatus {
        let record = run(holding: codePoint, in: mapping)
        let status = status(in: record)
        let isSmallLetter = status == .mappedToNext && (codePoint &- start(of: record)) % 2 == 1
        return isSmallLetter ? .valid : status
    }

    static func properties(of codePoint: UInt32) -> CodePointProperties {
        CodePointProperties(bits: run(holding: codePoint, in: properties) >> 21)
    }

    /// The canonical combining class.
    static func combiningClass(of codePoint: UInt32) -> UInt8 {
        UInt8(truncatingIfNeeded: run(holding: codePoint, in: combiningClasses) >> 21)
    }

    /// The primary composite of two code points. In `compositions`, the first stands in bits 42 on and the second in bits 21 to 41.
    static func composite(of first: UInt32, _ second: UInt32) -> UInt32? {
        let key = UInt64(first) << 21 | UInt64(second)
        let index = firstIndex(below: compositions.count) { compositions[$0] >> 21 >= key }
        guard index < compositions.count, compositions[index] >> 21 == key else { return nil }
        return start(of: compositions[index])
    }

    /// The two code points that a primary composite is made of.
    static func pair(of composite: UInt32) -> (UInt32, UInt32)? {
        let index = firstIndex(below: compositionsByComposite.count) {
            start(of: compositions[Int(compositionsByComposite[$0])]) >= composite
        }
        guard index < compositionsByComposite.count else { return nil }
        let record = compositions[Int(compositionsByComposite[index])]
        guard start(of: record) == composite else { return nil }
        return (UInt32(truncatingIfNeeded: record >> 42), start(of: record >> 21))
    }

    private static func status(in record: UInt64) -> MappingStatus { MappingStatus(rawValue: UInt8(record >> 21 & 7)) ?? .disallowed }

    private static func start(of record: some BinaryInteger) -> UInt32 { UInt32(truncatingIfNeeded: record) & 0x1F_FFFF }

    /// The last record that starts at a code point or before it; the first record of each table starts at zero.
    private static func run<Word: FixedWidthInteger>(holding codePoint: UInt32, in table: [Word]) -> Word {
        table[firstIndex(below: table.count) { start(of: table[$0]) > codePoint } - 1]
    }

    /// The first index for which a condition holds that holds for all after it; `count` if there is none.
    private static func firstIndex(below count: Int, where condition: (Int) -> Bool) -> Int {
        var range = 0..<count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = condition(middle) ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return range.lowerBound
    }
}
