// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux

/// The environment variables of the process.
package enum EnvironmentVariables {
    /// The value of a variable, with invalid UTF-8 replaced. `nil` for an unset or empty variable, and for every
    /// variable in a set-uid program (`secure_getenv(3)`).
    package static subscript(name: String) -> String? {
        guard let value = unsafe secure_getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }
}
