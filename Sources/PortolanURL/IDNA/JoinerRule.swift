// SPDX-License-Identifier: Apache-2.0

/// Where the two invisible characters that join or separate letters are allowed: only where they have a visible effect.
///
/// RFC 5892 §A.1 and §A.2
enum JoinerRule {
    private static let nonJoiner: UInt32 = 0x200C
    private static let joiner: UInt32 = 0x200D
    /// The combining class of viramas.
    private static let virama: UInt8 = 9

    /// - Complexity: linear; transparent code points between two joiners are visited once from each.
    static func allows(_ label: [UInt32]) -> Bool {
        label.indices.allSatisfy { index in
            switch label[index] {
            case nonJoiner: followsVirama(at: index, in: label) || breaksConnection(at: index, in: label)
            case joiner: followsVirama(at: index, in: label)
            default: true
            }
        }
    }

    private static func followsVirama(at index: Int, in label: [UInt32]) -> Bool {
        index > 0 && IDNATable.combiningClass(of: label[index - 1]) == virama
    }

    /// Whether the letters on both sides would connect. Transparent code points are ignored.
    private static func breaksConnection(at index: Int, in label: [UInt32]) -> Bool {
        let before = label[..<index].lazy.reversed().map { IDNATable.properties(of: $0).joining }.first { $0 != .transparent }
        let after = label[(index + 1)...].lazy.map { IDNATable.properties(of: $0).joining }.first { $0 != .transparent }
        return (before == .left || before == .dual) && (after == .right || after == .dual)
    }
}
