// SPDX-License-Identifier: Apache-2.0

/// What keeps a server of the tests from being there.
package struct ServerError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }

    /// A call of the system that failed; `errno` says why.
    init(call: String, errno: Int32) {
        description = "\(call) failed: \(SystemCalls.message(for: errno))"
    }
}
