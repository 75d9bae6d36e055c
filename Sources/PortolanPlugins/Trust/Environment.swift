// SPDX-License-Identifier: Apache-2.0

import CGNUExtensions

/// What the process was started with.
enum Environment {
    /// A variable that is set and not empty, what is no UTF-8 in it replaced; `nil` for every one in a set-uid program: `secure_getenv(3)`.
    static subscript(name: String) -> String? {
        guard let value = unsafe secure_getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }

    /// Whether nothing in the variable had to be replaced.
    static func isUTF8(_ name: String) -> Bool {
        guard let value = unsafe secure_getenv(name) else { return true }
        return unsafe String(validatingCString: value) != nil
    }

    /// A folder of the user's own, by the XDG Base Directory Specification: relative paths in the variable are not heeded.
    static func userFolder(_ variable: String, orInHome folder: String) -> String? {
        if let path = self[variable], path.hasPrefix("/") { return path }
        return self["HOME"].flatMap { $0.hasPrefix("/") ? "\($0)/\(folder)" : nil }
    }

    /// Where the running program lies: `proc(5)`.
    static var executableFolder: String? {
        // `try?` because without /proc there is no such folder to be searched.
        let path = try? Folder.linkTarget(of: "/proc/self/exe")
        return path.flatMap(Folder.parent)
    }
}
