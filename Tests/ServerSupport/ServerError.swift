// SPDX-License-Identifier: Apache-2.0

/// A failure of a test server.
package struct ServerError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }

    /// A failed system call. The description contains the message for `errno`.
    init(call: String, errno: Int32) {
        description = "\(call) failed: \(SystemCalls.message(for: errno))"
    }
}
