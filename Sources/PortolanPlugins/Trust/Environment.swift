// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux

/// The environment of the process, and the folder of its executable.
enum Environment {
    /// The value of a variable, with invalid UTF-8 replaced. `nil` if the variable is not set or empty, and in a
    /// set-uid program (`secure_getenv(3)`).
    static subscript(name: String) -> String? {
        guard let value = unsafe secure_getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// Whether the value is valid UTF-8, or not set.
    static func isUTF8(_ name: String) -> Bool {
        guard let value = unsafe secure_getenv(name) else { return true }
        return unsafe String(validatingCString: value) != nil
    }

    /// Returns a folder of the user (XDG Base Directory Specification). Ignores a relative path in a variable. `nil` if
    /// neither `variable` nor `HOME` has an absolute path.
    static func userFolder(_ variable: String, orInHome folder: String) -> String? {
        if let path = self[variable], path.hasPrefix("/") { return path }
        return self["HOME"].flatMap { $0.hasPrefix("/") ? "\($0)/\(folder)" : nil }
    }

    /// The folder of the running program (`proc(5)`).
    static var executableFolder: String? {
        // `try?` because /proc can be missing. Then this folder is not searched.
        let path = try? Folder.linkTarget(of: "/proc/self/exe")
        return path.flatMap(Folder.parent)
    }
}
