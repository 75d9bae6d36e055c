// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux

/// The environment with which the process was started.
enum Variables {
    /// A variable that is set and not empty, with invalid UTF-8 replaced. Every variable is `nil` in a set-uid program:
    /// `secure_getenv(3)`.
    static subscript(name: String) -> String? {
        guard let value = unsafe secure_getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }
}
