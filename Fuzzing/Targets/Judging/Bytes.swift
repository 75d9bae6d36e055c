// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Array where Element == UInt8 {
    /// Whether `other` begins with these bytes. Calls memcmp(3), because an instrumented `==` is slow.
    func isStart(of other: [UInt8]) -> Bool {
        guard count <= other.count, !isEmpty else { return isEmpty }
        return unsafe withUnsafeBytes { ownBytes in
            unsafe other.withUnsafeBytes { otherBytes in
                guard let ownBytes = ownBytes.baseAddress, let otherBytes = otherBytes.baseAddress else { return false }
                return unsafe memcmp(ownBytes, otherBytes, count) == 0
            }
        }
    }
}
