// SPDX-License-Identifier: Apache-2.0

/// Bytes that depend on their position. The period is a prime number, so a lost or repeated piece changes the bytes
/// after it.
enum Patterned {
    static func bytes(_ count: Int) -> [UInt8] {
        let period = (0..<65_521).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 13) }
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += period }
        return Array(bytes.prefix(count))
    }
}
