// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Which paths a plugin's files may have. The tests use real folders, files and links.
@Suite struct PathTrustPolicyTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
        try folder.file("a/b/c")
        try folder.file("other/file")
    }

    private func resolve(_ name: String) throws(PluginProblem) -> String {
        var policy = PathTrustPolicy()
        return try policy.resolve(folder(name))
    }

    private func expectObjection(
        to name: String, on reportedName: String, _ errorText: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let problem = #expect(throws: PluginProblem.self, sourceLocation: sourceLocation) { try resolve(name) }
        #expect(problem?.path == folder(reportedName), sourceLocation: sourceLocation)
        #expect(problem?.rule == .filesAreTrusted, sourceLocation: sourceLocation)
        #expect(problem?.detail.contains(errorText) == true, "\(problem?.detail ?? "")", sourceLocation: sourceLocation)
    }

    @Test(arguments: [
        ("a/b/c", "a/b/c"), ("a/b", "a/b"), ("", ""), ("a//b/./c", "a/b/c"), ("a/../a/b", "a/b"), ("a/b/../../other", "other"), ("a/", "a"),
    ])
    func pathWithoutLinksIsNormalized(name: String, resolved: String) throws {
        #expect(try resolve(name) == folder(resolved))
    }

    @Test func rootIsResolved() throws {
        var policy = PathTrustPolicy()
        #expect(try policy.resolve("/") == "/")
        #expect(try policy.resolve("/../..") == "/")
    }

    @Test func linksAreFollowed() throws {
        try folder.link("absolute", to: folder("a/b"))
        try folder.link("relative", to: "a/../a/b")
        try folder.link("a/up", to: "../other/")
        try folder.link("chain", to: "relative")
        #expect(try resolve("absolute/c") == folder("a/b/c"))
        #expect(try resolve("relative/c") == folder("a/b/c"))
        #expect(try resolve("chain/../up/file") == folder("other/file"))
    }

    @Test func dotDotAfterALinkIsTheParentOfItsTarget() throws {
        try folder.link("link", to: "a/b")
        #expect(try resolve("link/..") == folder("a"))
    }

    @Test func cyclicLinksAreRefused() throws {
        try folder.link("one", to: "two")
        try folder.link("two", to: "one")
        let problem = #expect(throws: PluginProblem.self) { try resolve("one/x") }
        #expect(problem?.detail == "its symbolic links form a loop; fix them")
    }

    @Test(arguments: [("nothing", "nothing", "No such file"), ("a/x/y", "a/x", "No such file"), ("a/b/c/d", "a/b/c/d", "Not a directory")])
    func missingPartIsNamed(name: String, reportedName: String, errorText: String) {
        let problem = #expect(throws: PluginProblem.self) { try resolve(name) }
        #expect(problem?.path == folder(reportedName))
        #expect(problem?.detail.contains(errorText) == true)
        #expect(problem?.rule == nil)
    }

    @Test func dotDotAfterAFileIsRefused() {
        let problem = #expect(throws: PluginProblem.self) { try resolve("a/b/c/../c") }
        #expect(problem?.path == folder("a/b/c"))
        #expect(problem?.detail.contains("Not a directory") == true)
    }

    @Test func danglingLinkNamesItsMissingTarget() throws {
        try folder.link("link", to: "gone")
        #expect(#expect(throws: PluginProblem.self) { try resolve("link") }?.path == folder("gone"))
    }

    @Test(arguments: ["", "a", "a/b", "a/b/c"])
    func worldWritablePartOfThePathIsNamed(reportedName: String) throws {
        try folder.chmod(reportedName, 0o777)
        expectObjection(to: "a/b/c", on: reportedName, "everybody")
        #expect(
            try {
                var policy = PathTrustPolicy(owner: nil)
                return try policy.resolve(folder("a/b/c"))
            }() == folder("a/b/c"))
    }

    @Test("The part of the path that an access list lets others write is named", arguments: ["", "a", "a/b", "a/b/c"])
    func partThatAnAccessListLetsOthersWriteIsNamed(reportedName: String) throws {
        do throws(TestFolder.SystemCallFailure) {
            try folder.setAccessList(reportedName)
        } catch  where error.number == EOPNOTSUPP {
            return  // because this file system has no access lists
        }
        expectObjection(to: "a/b/c", on: reportedName, "access control list")
        // With an access list, the group's permission bits hold the mask of the list.
        try folder.chmod(reportedName, 0o755)
        #expect(try resolve("a/b/c") == folder("a/b/c"))
    }

    @Test("A default access list counts only for files that are created under it") func defaultAccessListAppliesOnlyToNewFiles() throws {
        do throws(TestFolder.SystemCallFailure) {
            try folder.setAccessList("a/b", isDefault: true)
        } catch  where error.number == EOPNOTSUPP {
            return  // because this file system has no access lists
        }
        #expect(try resolve("a/b/c") == folder("a/b/c"))
        guard unsafe mkdir(folder("a/b/new"), 0o777) == 0 else { throw TestFolder.SystemCallFailure(call: "mkdir", number: errno) }
        expectObjection(to: "a/b/new", on: "a/b/new", "access control list")
    }

    @Test("A link into a folder that an access list lets others write is not followed") func linkIntoAWritableFolderIsNotFollowed() throws {
        do throws(TestFolder.SystemCallFailure) {
            try folder.setAccessList("other")
        } catch  where error.number == EOPNOTSUPP {
            return  // because this file system has no access lists
        }
        try folder.link("link", to: "other/file")
        expectObjection(to: "link", on: "other", "access control list")
    }

    @Test func foldersOutsideThePathDoNotMatter() throws {
        try folder.chmod("other", 0o777)
        #expect(try resolve("a/b/c") == folder("a/b/c"))
        expectObjection(to: "a/../other/file", on: "other", "everybody")
    }

    @Test func stickyFolderIsTrustedOnlyAsAParent() throws {
        try folder.chmod("a", 0o1777)
        #expect(try resolve("a/b/c") == folder("a/b/c"))
        expectObjection(to: "a", on: "a", "everybody")
        expectObjection(to: "a/b/..", on: "a", "everybody")
    }

    @Test func repeatedResolutionHasTheSameResult() throws {
        try folder.chmod("a", 0o1777)
        var policy = PathTrustPolicy()
        for _ in 0..<2 {
            #expect(try policy.resolve(folder("a/b/c")) == folder("a/b/c"))
            #expect(throws: PluginProblem.self) { try policy.resolve(folder("a")) }
        }
    }

    @Test func targetFoldersOfALinkAreChecked() throws {
        try folder.link("link", to: "other/file")
        try folder.chmod("other", 0o777)
        expectObjection(to: "link", on: "other", "everybody")
    }

    /// é as one code point and as two: equal strings, but different folders.
    @Test func namesAreComparedByBytes() throws {
        try folder.file("\u{E9}/x")
        try folder.file("e\u{301}/x")
        try folder.chmod("e\u{301}", 0o777)
        var policy = PathTrustPolicy()
        #expect(Array(try policy.resolve(folder("\u{E9}/x")).utf8) == Array(folder("\u{E9}/x").utf8))
        #expect(throws: PluginProblem.self) { try policy.resolve(folder("e\u{301}/x")) }
        try folder.file("a/\u{301}b/x")
        #expect(try resolve("a/\u{301}b/../b/c") == folder("a/b/c"))
    }

    // MARK: With other users

    @Test(.enabled(if: TestFolder.canGiveAway, "only root can give files to others"), arguments: ["a", "a/b", "a/b/c"])
    func partOwnedByAnotherUserIsNamed(reportedName: String) throws {
        try folder.chown(reportedName, user: 54321)
        expectObjection(to: "a/b/c", on: reportedName, "belongs to user 54321")
    }

    @Test(.enabled(if: TestFolder.canGiveAway, "only root can give files to others"))
    func anotherGroupMayNotWrite() throws {
        try folder.chown("a", group: 54321)
        try folder.chmod("a", 0o775)
        expectObjection(to: "a/b/c", on: "a", "group 54321")
        try folder.chown("a", group: FileOwnership.current.primaryGroup)
        #expect(try resolve("a/b/c") == folder("a/b/c"))
    }

    @Test(.enabled(if: TestFolder.canGiveAway, "only root can give files to others"))
    func linkOfAnotherUserInAStickyFolderIsNotFollowed() throws {
        try folder.folder("sticky", mode: 0o1777)
        try folder.link("sticky/link", to: folder("a/b"))
        #expect(try resolve("sticky/link/c") == folder("a/b/c"))
        try folder.chown("sticky/link", user: 54321)
        expectObjection(to: "sticky/link/c", on: "sticky/link", "belongs to user 54321")
    }
}
