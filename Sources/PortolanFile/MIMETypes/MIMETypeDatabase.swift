// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Maps the name of a file to the type of its contents.
///
/// Searches three tables in this order: the system's shared-mime-info (`mime/globs2` in each data folder, the user's
/// before the system's), the table of `mime.types`, and a small built-in one. Each table is read when it is first
/// needed, and kept. A missing or unreadable table has no entries. Malformed lines are ignored. No table is read
/// beyond 4 MiB.
///
/// Thread-safe. A call may block while it or another call reads a table.
///
/// [shared-mime-info specification](https://specifications.freedesktop.org/shared-mime-info-spec/latest/),
/// `mime.types(5)`
public final class MIMETypeDatabase: Sendable {
    private struct Tables {
        var globs: GlobTable?
        var mimeTypes: GlobTable?
        var builtIn: GlobTable?
    }

    /// The maximum number of bytes that are read of a table.
    private static let sizeLimit = 4 << 20

    private let dataFolders: [String]
    private let mimeTypesFile: String?
    /// A `ConditionLock` instead of a `Mutex`, because files are read while it is locked. If two loads need a table at
    /// the same time, one waits until the other has read it.
    private let tables = ConditionLock(Tables())

    /// - Parameters:
    ///   - dataFolders: the folders that may contain `mime/globs2`, the most important first; `nil` means the folders
    ///     in the environment.
    ///   - mimeTypesFile: a table in the form of `mime.types(5)`; `nil` means none.
    public init(dataFolders: [String]? = nil, mimeTypesFile: String? = "/etc/mime.types") {
        self.dataFolders = dataFolders ?? Self.dataFoldersOfEnvironment()
        self.mimeTypesFile = mimeTypesFile
    }

    /// The type of a file with this name; `nil` if no table matches the name.
    public func mimeType(ofFileNamed name: String) -> MIMEType? {
        mimeType(ofFileNamed: Array(name.utf8)[...])
    }

    func mimeType(ofFileNamed name: ArraySlice<UInt8>) -> MIMEType? {
        tables.withLock { tables in
            Self.cachedTable(&tables.globs, by: readGlobs).type(ofFileNamed: name)
                ?? Self.cachedTable(&tables.mimeTypes, by: readMIMETypes).type(ofFileNamed: name)
                ?? Self.cachedTable(&tables.builtIn, by: GlobTable.makeBuiltIn).type(ofFileNamed: name)
        }
    }

    private static func cachedTable(_ table: inout GlobTable?, by make: () -> GlobTable) -> GlobTable {
        if let table { return table }
        let newTable = make()
        table = newTable
        return newTable
    }

    private func readGlobs() -> GlobTable {
        var table = GlobTable()
        for folder in dataFolders {
            if let text = Self.contents(of: folder + "/mime/globs2") { table.add(globs2: text) }
        }
        return table
    }

    private func readMIMETypes() -> GlobTable {
        var table = GlobTable()
        if let text = mimeTypesFile.flatMap(Self.contents) { table.add(mimeTypes: text) }
        return table
    }

    private static func contents(of path: String) -> [UInt8]? {
        guard let path = LocalPath(path) else { return nil }
        // `try?` because the next table can answer. Without any table the type is merely unknown.
        return try? RegularFile(at: path).contents(atMost: sizeLimit)
    }

    /// XDG Base Directory Specification: `$XDG_DATA_HOME`, then each of `$XDG_DATA_DIRS`. Relative paths are invalid.
    private static func dataFoldersOfEnvironment() -> [String] {
        let home = environment("XDG_DATA_HOME") ?? environment("HOME").map { $0 + "/.local/share" }
        let others = environment("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share"
        return ([home].compactMap(\.self) + others.split(separator: ":").map(String.init)).filter { $0.hasPrefix("/") }
    }

    /// An empty variable counts as unset. In a set-uid program, every variable counts as unset, because the environment
    /// belongs to another user.
    private static func environment(_ name: String) -> String? {
        guard getuid() == geteuid(), getgid() == getegid(), let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }
}
