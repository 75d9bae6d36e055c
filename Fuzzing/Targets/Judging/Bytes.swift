// SPDX-License-Identifier: Apache-2.0

import Glibc

extension Array where Element == UInt8 {
    /// Whether `other` begins with these bytes. By one call, for what the compiler makes of `==` is instrumented and slow.
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
