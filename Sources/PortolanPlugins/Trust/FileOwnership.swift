// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Decides which files are trusted: those of the user and root.
struct FileOwnership: Sendable {
    let user: uid_t
    /// Many systems give each user a private group and let it write. Files that only this group can change are trusted,
    /// as long as it has no other member.
    let primaryGroup: gid_t
    private let company: GroupMembership

    /// - Parameter company: returns the other members of a group; called at most once for each group.
    init(user: uid_t, primaryGroup: gid_t, company: @escaping @Sendable (gid_t) -> String?) {
        (self.user, self.primaryGroup) = (user, primaryGroup)
        self.company = GroupMembership(company)
    }

    /// The user of this process. Each new value looks up the group members again.
    static var current: FileOwnership {
        FileOwnership(user: identity.user, primaryGroup: identity.group) { [user = identity.user] group in
            UserDatabase.otherMember(of: group, than: user)
        }
    }

    private static let identity: (user: uid_t, group: gid_t) = {
        let user = geteuid()
        return (user, UserDatabase.primaryGroup(of: user) ?? getegid())
    }()

    /// Returns why another user can change this file or folder, and how to fix it; `nil` if nobody can.
    ///
    /// - Parameter isAbove: whether it is a folder above the checked file. There, sticky folders are fine, because
    ///   nobody can rename another user's files in them.
    func objection(to status: FileStatus, isAbove: Bool) -> String? {
        guard status.owner == 0 || status.owner == user else {
            return "it belongs to user \(status.owner), neither to root nor to you; change its owner (chown) or move the plugin"
        }
        // The target of a link is checked separately; the link's own permissions have no effect: symlink(7).
        guard status.kind != .link, !(isAbove && status.isSticky) else { return nil }
        if status.permissions & S_IWOTH != 0 { return "it is writable by everybody; remove that permission (chmod o-w)" }
        guard status.permissions & S_IWGRP != 0 else { return nil }
        if status.isWritableByAccessList {
            return "it is writable by others on its access control list; remove that permission (chmod g-w) or the list (setfacl -b)"
        }
        guard status.group == primaryGroup else {
            return "it is writable by group \(status.group); remove that permission (chmod g-w)"
        }
        return company.members(of: status.group).map { others in
            "it is writable by group \(status.group), which is not yours alone: \(others); remove that permission (chmod g-w)"
        }
    }
}

/// Caches the other members of groups, because the look-up may use the network.
private final class GroupMembership: Sendable {
    private let find: @Sendable (gid_t) -> String?
    private let known = Mutex<[gid_t: String?]>([:])

    init(_ find: @escaping @Sendable (gid_t) -> String?) {
        self.find = find
    }

    func members(of group: gid_t) -> String? {
        if let known = known.withLock({ $0[group] }) { return known }
        let answer = find(group)
        known.withLock { $0[group] = .some(answer) }
        return answer
    }
}
