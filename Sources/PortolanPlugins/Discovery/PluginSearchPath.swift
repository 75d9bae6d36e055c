// SPDX-License-Identifier: Apache-2.0

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
