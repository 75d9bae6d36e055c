// SPDX-License-Identifier: Apache-2.0

/// The folders in which plugins are searched. Earlier folders take precedence.
public struct PluginSearchPath: Hashable, Sendable {
    public struct Folder: Hashable, Sendable {
        /// An absolute path. The search reports a problem for a relative path.
        public let path: String
        /// Whether it is a problem if the folder does not exist.
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

    /// The default search path of a program.
    ///
    /// The folders are those of `PORTOLAN_PLUGIN_PATH`, separated by colons; `portolan/plugins` in `$XDG_DATA_HOME`
    /// (default `~/.local/share`); `/usr/local/lib/portolan/plugins` and `/usr/lib/portolan/plugins`; and `plugins`
    /// beside the executable. In a set-uid program, the environment is ignored (`secure_getenv(3)`).
    public static var standard: Self {
        let namedFolders = (Environment["PORTOLAN_PLUGIN_PATH"] ?? "").split(separator: ":").map { Folder(String($0)) }
        let standardFolders = [
            Environment.userFolder("XDG_DATA_HOME", orInHome: ".local/share").map { $0 + "/portolan/plugins" },
            "/usr/local/lib/portolan/plugins", "/usr/lib/portolan/plugins", Environment.executableFolder.map { $0 + "/plugins" },
        ]
        return Self(namedFolders + standardFolders.compactMap { $0.map { Folder($0, isExpected: false) } })
    }
}
