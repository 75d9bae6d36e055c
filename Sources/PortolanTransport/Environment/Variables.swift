// SPDX-License-Identifier: Apache-2.0

import CGNUExtensions

/// What the process was started with.
enum Variables {
    /// A variable that is set and not empty, what is no UTF-8 in it replaced; `nil` for every one in a set-uid program: `secure_getenv(3)`.
    static subscript(name: String) -> String? {
        guard let value = unsafe secure_getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }
}
