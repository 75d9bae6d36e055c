// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux
import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A temporary folder that no other user can change. `deinit` deletes it.
final class TestFolder {
    /// The path with links resolved.
    let path: String

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("portolan-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let resolved = unsafe realpath(folder.path, nil)
        defer { unsafe free(resolved) }
        path = unsafe resolved.map { unsafe String(cString: $0) } ?? folder.path
        try chmod("", 0o700)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)  // because this only cleans up
    }

    struct SystemCallFailure: Error { let call: String, number: CInt }

    /// The path of a file or folder in this folder.
    func callAsFunction(_ name: String) -> String { name.isEmpty ? path : "\(path)/\(name)" }

    @discardableResult
    func folder(_ name: String, mode: mode_t = 0o755) throws -> String {
        try FileManager.default.createDirectory(atPath: self(name), withIntermediateDirectories: true)
        try chmod(name, mode)
        return self(name)
    }

    /// Writes a file, and creates its parent folders.
    @discardableResult
    func file(_ name: String, _ text: String = "", mode: mode_t = 0o644) throws -> String {
        if let slash = name.lastIndex(of: "/") { try folder(String(name[..<slash])) }
        try Data(text.utf8).write(to: URL(filePath: self(name)))
        try chmod(name, mode)
        return self(name)
    }

    /// Creates `NAME/NAME.plugin.json`, and `NAME/plugin.so` if a fixture is given.
    @discardableResult
    func plugin(_ name: String, _ manifest: String, fixture: String? = nil) throws -> String {
        try file("\(name)/\(name.split(separator: "/").last ?? "").plugin.json", manifest)
        if let fixture { try library("\(name)/plugin.so", fixture) }
        return self(name)
    }

    /// Creates a copy of a fixture's library. It replaces a file with the same name, and has a new inode.
    func library(_ name: String, _ fixture: String) throws {
        try remove(name)
        try FileManager.default.copyItem(atPath: Fixtures.path(fixture), toPath: self(name))
        try chmod(name, 0o755)
    }

    func remove(_ name: String) throws {
        guard unsafe unlink(self(name)) == 0 || errno == ENOENT else { throw SystemCallFailure(call: "unlink", number: errno) }
    }

    func link(_ name: String, to target: String) throws {
        try check("symlink", unsafe symlink(target, self(name)))
    }

    func pipe(_ name: String) throws {
        try check("mkfifo", unsafe mkfifo(self(name), 0o600))
    }

    func chmod(_ name: String, _ mode: mode_t) throws {
        #if canImport(Glibc)
            try check("chmod", unsafe Glibc.chmod(self(name), mode))
        #else
            try check("chmod", unsafe Musl.chmod(self(name), mode))
        #endif
    }

    /// Changes the owner. For a link, changes the link itself.
    func chown(_ name: String, user: uid_t = uid_t.max, group: gid_t = gid_t.max) throws {
        try check("lchown", unsafe lchown(self(name), user, group))
    }

    /// Gives user 54321 all permissions by an access list, as `setfacl -m u:54321:rwx` does (acl(5)). Writes the
    /// kernel's format.
    ///
    /// - Parameter isDefault: the list applies to files that are created in the folder.
    func setAccessList(_ name: String, isDefault: Bool = false) throws(SystemCallFailure) {
        let entries: [(tag: UInt16, permissions: UInt16, user: UInt32)] = [
            (0x01, 7, .max), (0x02, 7, 54321), (0x04, 5, .max), (0x10, 7, .max), (0x20, 5, .max),
        ]
        var bytes: [UInt8] = [2, 0, 0, 0]
        for entry in entries {
            for word in [entry.tag, entry.permissions, UInt16(truncatingIfNeeded: entry.user), UInt16(entry.user >> 16)] {
                bytes += [UInt8(truncatingIfNeeded: word), UInt8(word >> 8)]
            }
        }
        let attribute = isDefault ? "system.posix_acl_default" : "system.posix_acl_access"
        try check("setxattr", unsafe setxattr(self(name), attribute, bytes, bytes.count, 0))
    }

    private func check(_ call: String, _ status: CInt) throws(SystemCallFailure) {
        guard status == 0 else { throw SystemCallFailure(call: call, number: errno) }
    }

    /// Whether this process can give files to other users, which only root can.
    static let canGiveAway = geteuid() == 0
}
