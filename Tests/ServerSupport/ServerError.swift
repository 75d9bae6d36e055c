// SPDX-License-Identifier: Apache-2.0

/// The reason why a test server could not start.
package struct ServerError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }

    /// A failed system call; the description contains the text for `errno`.
    init(call: String, errno: Int32) {
        description = "\(call) failed: \(SystemCalls.message(for: errno))"
    }
}
