// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Which owners and permissions are trusted, and how the system's users are looked up. The user of ``owner`` is 1000,
/// with the primary group 100.
@Suite struct FileOwnershipTests {
    private static let owner = FileOwnership(user: 1000, primaryGroup: 100) { _ in nil }

    /// The objection to a file with this type, mode, owner and group, or `nil` if the file is trusted.
    ///
    /// - Parameters:
    ///   - isParentFolder: whether the file is a parent folder of the checked file.
    ///   - accessList: the result of getxattr(2) for the access control list.
    private static func objection(
        _ kind: mode_t, _ mode: mode_t, _ user: uid_t, _ group: gid_t, isParentFolder: Bool, owner: FileOwnership = owner,
        accessList: () -> Int = { -1 }
    ) -> String? {
        var information = stat()
        (information.st_mode, information.st_uid, information.st_gid) = (kind | mode, user, group)
        return unsafe owner.objection(to: FileStatus(information) { _ in accessList() }, isParentFolder: isParentFolder)
    }

    @Test(arguments: [(S_IFDIR, 0o755), (S_IFDIR, 0o700), (S_IFREG, 0o644), (S_IFREG, 0o4755), (S_IFLNK, 0o777)] as [(mode_t, mode_t)])
    func filesWritableOnlyByUserAndRootAreTrusted(kind: mode_t, mode: mode_t) {
        for (user, group) in [(0, 0), (1000, 100), (0, 5), (1000, 5)] as [(uid_t, gid_t)] {
            for isParentFolder in [false, true] { #expect(Self.objection(kind, mode, user, group, isParentFolder: isParentFolder) == nil) }
        }
    }

    @Test(arguments: [S_IFDIR, S_IFREG, S_IFLNK])
    func filesOfAnotherUserAreNotTrusted(kind: mode_t) {
        for mode in [0o755, 0o1777, 0o600] as [mode_t] {
            for isParentFolder in [false, true] {
                let objection = Self.objection(kind, mode, 1001, 100, isParentFolder: isParentFolder)
                #expect(objection == "it belongs to user 1001, neither to root nor to you; change its owner (chown) or move the plugin")
            }
        }
    }

    @Test(arguments: [0o757, 0o777, 0o702, 0o2777] as [mode_t])
    func worldWritableFilesAreNotTrusted(mode: mode_t) {
        for kind in [S_IFDIR, S_IFREG] {
            let objection = Self.objection(kind, mode, 0, 100, isParentFolder: true)
            #expect(objection == "it is writable by everybody; remove that permission (chmod o-w)")
        }
    }

    @Test func onlyTheUsersPrimaryGroupMayWrite() {
        #expect(Self.objection(S_IFDIR, 0o775, 1000, 100, isParentFolder: false) == nil)
        #expect(Self.objection(S_IFDIR, 0o2775, 0, 100, isParentFolder: true) == nil)
        for group in [0, 101] as [gid_t] {
            let objection = Self.objection(S_IFDIR, 0o775, 1000, group, isParentFolder: false)
            #expect(objection == "it is writable by group \(group); remove that permission (chmod g-w)")
        }
    }

    @Test("The user's primary group may not write if it has other members") func primaryGroupWithOtherMembersMayNotWrite() {
        let lookedUpGroups = ConditionLock<[gid_t]>([])
        let owner = FileOwnership(user: 1000, primaryGroup: 100) { group in
            lookedUpGroups.withLock { $0.append(group) }
            return "'bob' is also a member"
        }
        for _ in 0..<3 {
            #expect(
                Self.objection(S_IFDIR, 0o775, 1000, 100, isParentFolder: true, owner: owner)
                    == "it is writable by group 100, which has other members: 'bob' is also a member; remove that permission (chmod g-w)")
        }
        // Irrelevant groups are not looked up, and each result is cached.
        #expect(Self.objection(S_IFDIR, 0o755, 1000, 100, isParentFolder: true, owner: owner) == nil)
        #expect(lookedUpGroups.withLock { $0 } == [100])
    }

    @Test("A file is not trusted if its access list may let others write, or can't be read") func accessListThatMayAllowWritesIsNotTrusted()
    {
        let expectedObjection =
            "it is writable by others on its access control list; remove that permission (chmod g-w) or the list (setfacl -b)"
        for kind in [S_IFREG, S_IFDIR] {
            #expect(Self.objection(kind, 0o770, 1000, 100, isParentFolder: false) { 44 } == expectedObjection)
            for (errorNumber, isRefused) in [(ENODATA, false), (EOPNOTSUPP, false), (EACCES, true), (EIO, true)] {
                let objection = Self.objection(kind, 0o770, 1000, 100, isParentFolder: false) {
                    errno = errorNumber
                    return -1
                }
                #expect(objection == (isRefused ? expectedObjection : nil))
            }
            // The mask of the list allows no writes.
            #expect(Self.objection(kind, 0o750, 1000, 100, isParentFolder: false) { 44 } == nil)
        }
    }

    @Test func stickyFolderIsTrustedOnlyAsAParent() {
        #expect(Self.objection(S_IFDIR, 0o1777, 0, 0, isParentFolder: true) == nil)
        #expect(Self.objection(S_IFDIR, 0o1777, 0, 0, isParentFolder: false) != nil)
        #expect(Self.objection(S_IFDIR, 0o1775, 0, 50, isParentFolder: true) == nil)
    }

    @Test func currentUserIsTheEffectiveUser() {
        #expect(FileOwnership.current.user == geteuid())
    }

    @Test("A user is a member of their primary group; an unknown group has no members") func usersOfAPrimaryGroupAreItsMembers() throws {
        let entry = unsafe try #require(getpwnam("nobody"))
        let (nobody, group) = unsafe (entry.pointee.pw_uid, entry.pointee.pw_gid)
        #expect(UserDatabase.member(of: group, otherThan: nobody &- 1)?.contains("is also the primary group of '") == true)
        #expect(UserDatabase.primaryGroup(of: nobody) == group)
        // No user or group has this ID.
        #expect(UserDatabase.member(of: 3_987_654_321, otherThan: nobody) == nil)
        #expect(UserDatabase.primaryGroup(of: 3_987_654_321) == nil)
    }
}
