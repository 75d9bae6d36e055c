// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Whose files are trusted: the user's own and root's.
struct Owner: Sendable {
    let user: uid_t
    /// Many systems give each user a group of their own and let it write: what only that group can change is trusted, too.
    let primaryGroup: gid_t

    /// Who runs this process.
    static let current: Owner = {
        let user = geteuid()
        var record = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 1 << 14)
        let status = unsafe getpwuid_r(user, &record, &buffer, buffer.count, &found)
        guard unsafe status == 0 && found != nil else { return Owner(user: user, primaryGroup: getegid()) }
        return unsafe Owner(user: user, primaryGroup: record.pw_gid)
    }()

    /// Why somebody else can change this file or folder, and how to mend it; `nil` where nobody can.
    ///
    /// - Parameter isAbove: it is a folder above the one that matters: sticky ones are fine, for nobody can rename what is another's in them.
    func objection(to status: FileStatus, isAbove: Bool) -> String? {
        guard status.owner == 0 || status.owner == user else {
            return "it belongs to user \(status.owner), neither to root nor to you; take it over (chown) or move the plugin"
        }
        // What a link leads to is looked at by itself, and its own permissions mean nothing: symlink(7).
        guard status.kind != .link, !(isAbove && status.isSticky) else { return nil }
        let writers = [
            status.permissions & S_IWOTH != 0 ? "everybody" : nil,
            status.permissions & S_IWGRP != 0 && status.group != primaryGroup ? "group \(status.group)" : nil,
        ].compactMap { $0 }
        guard let writer = writers.first else { return nil }
        return "it is writable by \(writer); take that permission away (chmod \(writer == "everybody" ? "o-w" : "g-w"))"
    }
}
