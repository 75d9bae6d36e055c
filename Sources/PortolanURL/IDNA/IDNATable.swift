// SPDX-License-Identifier: Apache-2.0

/// The properties of code points that UTS 46, and the rules to which UTS 46 refers, need.
///
/// The tables are arrays of integers that the optimiser turns into constant data: nothing is built when a program
/// starts. In each table, the low 21 bits of a record are a code point. If the records are runs, one ends where the
/// next starts.
///
/// Code points that are not valid by UTS 46 have the properties of the code points before them, because no rule reads
/// them.
///
/// - Complexity: a binary search for each look-up.
enum IDNATable {
    /// Bits 21 to 23 of `mapping`. They define the meaning of the value, the bits from 24 on.
    enum MappingStatus: UInt8 {
        case valid, disallowed, ignored
        /// The run is mapped to a run that starts at the value.
        case mappedToRun
        /// Capital and small letters alternate. Each capital letter, beginning with the first code point, is mapped to
        /// the next code point, which is valid.
        case mappedToNext
        /// Each code point is mapped to a sequence of `mappingTargets`. Bits 40 and up are its length. Bits 24 to 39
        /// are the start of the sequence for the first code point.
        case mappedToSequence
    }

    /// Appends the mapping of a code point: nothing if it is ignored, or itself if it is valid.
    ///
    /// - Returns: whether it is allowed.
    static func map(_ codePoint: UInt32, into output: inout [UInt32]) -> Bool {
        let record = run(containing: codePoint, in: mapping)
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

    /// The status of one code point. In a run of `mappedToNext`, the small letters are valid.
    static func status(of codePoint: UInt32) -> MappingStatus {
        let record = run(containing: codePoint, in: mapping)
        let status = status(in: record)
        let isSmallLetter = status == .mappedToNext && (codePoint &- start(of: record)) % 2 == 1
        return isSmallLetter ? .valid : status
    }

    static func properties(of codePoint: UInt32) -> CodePointProperties {
        CodePointProperties(bits: run(containing: codePoint, in: properties) >> 21)
    }

    /// The canonical combining class.
    static func combiningClass(of codePoint: UInt32) -> UInt8 {
        UInt8(truncatingIfNeeded: run(containing: codePoint, in: combiningClasses) >> 21)
    }

    /// The primary composite of two code points. In `compositions`, the first is in bits 42 and up, the second in bits
    /// 21 to 41.
    static func composite(of first: UInt32, _ second: UInt32) -> UInt32? {
        let key = UInt64(first) << 21 | UInt64(second)
        let index = firstIndex(below: compositions.count) { compositions[$0] >> 21 >= key }
        guard index < compositions.count, compositions[index] >> 21 == key else { return nil }
        return start(of: compositions[index])
    }

    /// The two code points that form a primary composite.
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

    /// The last record that starts at or before a code point. The first record of each table starts at zero.
    private static func run<Word: FixedWidthInteger>(containing codePoint: UInt32, in table: [Word]) -> Word {
        table[firstIndex(below: table.count) { start(of: table[$0]) > codePoint } - 1]
    }

    /// The first index for which `condition` holds; `count` if there is none. `condition` must hold for all later
    /// indices, too.
    private static func firstIndex(below count: Int, where condition: (Int) -> Bool) -> Int {
        var range = 0..<count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range = condition(middle) ? range.lowerBound..<middle : middle + 1..<range.upperBound
        }
        return range.lowerBound
    }
}
