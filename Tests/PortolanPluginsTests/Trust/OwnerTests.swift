// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Who may own and write what is trusted. The user is 1000 with the primary group 100.
@Suite struct OwnerTests {
    private static let owner = Owner(user: 1000, primaryGroup: 100)

    private static func objection(_ kind: mode_t, _ mode: mode_t, _ user: uid_t, _ group: gid_t, isAbove: Bool) -> String? {
        var information = stat()
        (information.st_mode, information.st_uid, information.st_gid) = (kind | mode, user, group)
        return owner.objection(to: FileStatus(information), isAbove: isAbove)
    }

    @Test(arguments: [(S_IFDIR, 0o755), (S_IFDIR, 0o700), (S_IFREG, 0o644), (S_IFREG, 0o4755), (S_IFLNK, 0o777)] as [(mode_t, mode_t)])
    func whatOnlyTheUserAndRootCanWriteIsFine(kind: mode_t, mode: mode_t) {
        for (user, group) in [(0, 0), (1000, 100), (0, 5), (1000, 5)] as [(uid_t, gid_t)] {
            for isAbove in [false, true] { #expect(Self.objection(kind, mode, user, group, isAbove: isAbove) == nil) }
        }
    }

    @Test(arguments: [S_IFDIR, S_IFREG, S_IFLNK])
    func whatBelongsToAnotherIsNot(kind: mode_t) {
        for mode in [0o755, 0o1777, 0o600] as [mode_t] {
            for isAbove in [false, true] {
                let objection = Self.objection(kind, mode, 1001, 100, isAbove: isAbove)
                #expect(objection == "it belongs to user 1001, neither to root nor to you; take it over (chown) or move the plugin")
            }
        }
    }

    @Test(arguments: [0o757, 0o777, 0o702, 0o2777] as [mode_t])
    func whatEverybodyCanWriteIsNot(mode: mode_t) {
        for kind in [S_IFDIR, S_IFREG] {
            let objection = Self.objection(kind, mode, 0, 100, isAbove: true)
            #expect(objection == "it is writable by everybody; take that permission away (chmod o-w)")
        }
    }

    @Test func theUsersOwnGroupMayWriteAndOthersMayNot() {
        #expect(Self.objection(S_IFDIR, 0o775, 1000, 100, isAbove: false) == nil)
        #expect(Self.objection(S_IFDIR, 0o2775, 0, 100, isAbove: true) == nil)
        for group in [0, 101] as [gid_t] {
            let objection = Self.objection(S_IFDIR, 0o775, 1000, group, isAbove: false)
            #expect(objection == "it is writable by group \(group); take that permission away (chmod g-w)")
        }
    }

    @Test func aStickyFolderIsFineOnlyAboveTheOneThatMatters() {
        #expect(Self.objection(S_IFDIR, 0o1777, 0, 0, isAbove: true) == nil)
        #expect(Self.objection(S_IFDIR, 0o1777, 0, 0, isAbove: false) != nil)
        #expect(Self.objection(S_IFDIR, 0o1775, 0, 50, isAbove: true) == nil)
    }

    @Test func theCurrentUserIsTheOneWhoRunsThis() {
        #expect(Owner.current.user == geteuid())
    }
}
