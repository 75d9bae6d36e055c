// SPDX-License-Identifier: Apache-2.0

import CSecureGetenv

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The folders in which plugins are looked for, the first of which counts most.
public struct PluginSearchPath: Hashable, Sendable {
    public struct Folder: Hashable, Sendable {
        /// Absolute, or the search says what is wrong.
        public let path: String
        /// Whether it is worth a word that it does not exist.
        public let isExpected: Bool

        public init(_ path: String, isExpected: Bool = true) {
            self.path = path
            self.isExpected = isExpected
        }
    }

    public var folders: [Folder]

    public init(_ folders: [Folder]) {
        self.folders = folders
    }

    public init(_ folders: [String]) {
        self.init(folders.map { Folder($0) })
    }

    /// Where a program looks that says nothing of its own.
    ///
    /// The folders of `PORTOLAN_PLUGIN_PATH`, colons between them; `portolan/plugins` in `$XDG_DATA_HOME` (without it `~/.local/share`);
    /// `/usr/local/lib/portolan/plugins` and `/usr/lib/portolan/plugins`; and `plugins` beside the executable.
    /// Where the process runs with more rights than its user has, the environment is not looked at (`secure_getenv(3)`).
    public static var standard: Self {
        let named = (Environment["PORTOLAN_PLUGIN_PATH"] ?? "").split(separator: ":").map { Folder(String($0)) }
        let installed = [
            Environment.userFolder("XDG_DATA_HOME", orInHome: ".local/share").map { $0 + "/portolan/plugins" },
            "/usr/local/lib/portolan/plugins", "/usr/lib/portolan/plugins", Environment.executableFolder.map { $0 + "/plugins" },
        ]
        return Self(named + installed.compactMap { $0.map { Folder($0, isExpected: false) } })
    }
}

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
