// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Decides which files are trusted: those that only the user and root can change.
struct FileOwnership: Sendable {
    let user: uid_t
    /// The user's primary group. Many systems give each user a private group with write permission. A file that this
    /// group can change is trusted if the group has no other member.
    let primaryGroup: gid_t
    private let otherMembers: GroupMembership

    /// - Parameter otherMember: describes another member of a group, or returns `nil`. Called once for each group.
    init(user: uid_t, primaryGroup: gid_t, otherMember: @escaping @Sendable (gid_t) -> String?) {
        (self.user, self.primaryGroup) = (user, primaryGroup)
        otherMembers = GroupMembership(otherMember)
    }

    /// The ownership for the user of this process. Each new value looks up the group members again.
    static var current: FileOwnership {
        FileOwnership(user: identity.user, primaryGroup: identity.group) { [user = identity.user] group in
            UserDatabase.member(of: group, otherThan: user)
        }
    }

    private static let identity: (user: uid_t, group: gid_t) = {
        let user = geteuid()
        return (user, UserDatabase.primaryGroup(of: user) ?? getegid())
    }()

    /// Returns why another user can change this file or folder, and how to fix it. `nil` if no other user can.
    ///
    /// - Parameter isParentFolder: whether `status` is that of a parent folder of the checked file. Such a folder can
    ///   be sticky, because users cannot rename files of other users there.
    func objection(to status: FileStatus, isParentFolder: Bool) -> String? {
        guard status.owner == 0 || status.owner == user else {
            return "it belongs to user \(status.owner), neither to root nor to you; change its owner (chown) or move the plugin"
        }
        // The permissions of a link have no effect (symlink(7)). Its target is checked separately.
        guard status.kind != .link, !(isParentFolder && status.isSticky) else { return nil }
        if status.permissions & S_IWOTH != 0 { return "it is writable by everybody; remove that permission (chmod o-w)" }
        guard status.permissions & S_IWGRP != 0 else { return nil }
        if status.isWritableByAccessList {
            return "it is writable by others on its access control list; remove that permission (chmod g-w) or the list (setfacl -b)"
        }
        guard status.group == primaryGroup else {
            return "it is writable by group \(status.group); remove that permission (chmod g-w)"
        }
        return otherMembers.description(of: status.group).map { others in
            "it is writable by group \(status.group), which has other members: \(others); remove that permission (chmod g-w)"
        }
    }
}

/// Caches the other members of groups, because the look-up can use the network.
private final class GroupMembership: Sendable {
    private let findOtherMember: @Sendable (gid_t) -> String?
    private let cache = Mutex<[gid_t: String?]>([:])

    init(_ findOtherMember: @escaping @Sendable (gid_t) -> String?) {
        self.findOtherMember = findOtherMember
    }

    func description(of group: gid_t) -> String? {
        if let cachedDescription = cache.withLock({ $0[group] }) { return cachedDescription }
        let otherMember = findOtherMember(group)
        cache.withLock { $0[group] = .some(otherMember) }
        return otherMember
    }
}
