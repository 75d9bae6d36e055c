// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Array where Element == UInt8 {
    /// Whether `other` begins with these bytes. Calls memcmp(3), because an instrumented `==` is slow.
    func isStart(of other: [UInt8]) -> Bool {
        guard count <= other.count, !isEmpty else { return isEmpty }
        return unsafe withUnsafeBytes { mine in
            unsafe other.withUnsafeBytes { theirs in
                guard let mine = mine.baseAddress, let theirs = theirs.baseAddress else { return false }
                return unsafe memcmp(mine, theirs, count) == 0
            }
        }
    }
}
