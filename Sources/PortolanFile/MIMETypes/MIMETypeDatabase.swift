// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the name of a file says of its contents.
///
/// Asked in this order: the system's shared-mime-info (`mime/globs2` in each data folder, the user's before the system's), the table of
/// `mime.types`, and a small one of our own. Each is read when it is first needed, and kept. A table that is missing, can't be read or
/// is malformed in places says nothing there; no table is read beyond 4 MiB.
///
/// Thread-safe. The first question reads files, so it may block.
///
/// [shared-mime-info specification](https://specifications.freedesktop.org/shared-mime-info-spec/latest/), `mime.types(5)`
public final class MIMETypeDatabase: Sendable {
    private struct Tables {
        var globs: GlobTable?
        var mimeTypes: GlobTable?
        var builtIn: GlobTable?
    }

    private static let sizeLimit = 4 << 20

    private let dataFolders: [String]
    private let mimeTypesFile: String?
    /// A monitor and no `Mutex`, because files are read under its lock: of two loads that need a table at once, one waits for the other's reading.
    private let tables = ConditionLock(Tables())

    /// - Parameters:
    ///   - dataFolders: where `mime/globs2` is looked for, the most important folder first; `nil`: where the environment says.
    ///   - mimeTypesFile: a table in the form of `mime.types(5)`; `nil`: none.
    public init(dataFolders: [String]? = nil, mimeTypesFile: String? = "/etc/mime.types") {
        self.dataFolders = dataFolders ?? Self.dataFoldersOfEnvironment()
        self.mimeTypesFile = mimeTypesFile
    }

    /// The type of a file of this name; `nil` if the name says nothing.
    public func mimeType(ofFileNamed name: String) -> MIMEType? {
        mimeType(ofFileNamed: Array(name.utf8)[...])
    }

    func mimeType(ofFileNamed name: ArraySlice<UInt8>) -> MIMEType? {
        tables.withLock { tables in
            Self.made(&tables.globs, by: readGlobs).type(ofFileNamed: name)
                ?? Self.made(&tables.mimeTypes, by: readMIMETypes).type(ofFileNamed: name)
                ?? Self.made(&tables.builtIn, by: GlobTable.makeBuiltIn).type(ofFileNamed: name)
        }
    }

    private static func made(_ table: inout GlobTable?, by make: () -> GlobTable) -> GlobTable {
        if let table { return table }
        let made = make()
        table = made
        return made
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
        // A failure is left unsaid because the next table can answer, and without any the type is merely unknown.
        return try? RegularFile(at: path).contents(atMost: sizeLimit)
    }

    /// XDG Base Directory Specification: `$XDG_DATA_HOME`, then each of `$XDG_DATA_DIRS`, relative paths being invalid.
    private static func dataFoldersOfEnvironment() -> [String] {
        let home = environment("XDG_DATA_HOME") ?? environment("HOME").map { $0 + "/.local/share" }
        let others = environment("XDG_DATA_DIRS") ?? "/usr/local/share:/usr/share"
        return ([home].compactMap(\.self) + others.split(separator: ":").map(String.init)).filter { $0.hasPrefix("/") }
    }

    /// Empty counts as unset, and everything does in a set-uid program, whose environment is another user's.
    private static func environment(_ name: String) -> String? {
        guard getuid() == geteuid(), getgid() == getegid(), let value = unsafe getenv(name) else { return nil }
        let text = unsafe String(cString: value)
        return text.isEmpty ? nil : text
    }
}
