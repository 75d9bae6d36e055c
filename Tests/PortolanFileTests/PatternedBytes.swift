// SPDX-License-Identifier: Apache-2.0

/// Bytes with a pattern that shows a lost or repeated piece. The pattern's period is a prime number, so a piece with a
/// usual size never has the length of a period.
enum PatternedBytes {
    static func make(_ count: Int) -> [UInt8] {
        let period = (0..<65_521).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += period }
        return Array(bytes.prefix(count))
    }
}
