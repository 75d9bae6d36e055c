// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanPlugins

/// Which plugins a catalogue finds, their order, and the problems that it reports. The tests open no libraries.
@Suite struct DiscoveryTests {
    private let folder: TestFolder

    init() throws { folder = try TestFolder() }

    private func catalogue(_ names: String..., isExpected: Bool = true) -> PluginCatalogue {
        let folders = names.map { PluginSearchPath.Folder($0.hasPrefix("/") ? $0 : folder($0), isExpected: isExpected) }
        return PluginCatalogue(searching: PluginSearchPath(folders), policy: PluginPolicy())
    }

    /// Writes the manifest of a plugin in the folder `name`.
    private func install(_ name: String, _ identifier: String) throws {
        try folder.plugin(name, ManifestText.of(identifier, scheme: "x"))
    }

    @Test func pluginsAreOrderedByFolderThenName() throws {
        for name in ["one/b", "one/a", "two/c", "one/B"] { try install(name, "org.\(name.split(separator: "/").joined(separator: "."))") }
        let foundCatalogue = catalogue("two", "one")
        #expect(foundCatalogue.plugins.map(\.identifier) == ["org.two.c", "org.one.B", "org.one.a", "org.one.b"])
        #expect(foundCatalogue.problems.isEmpty)
        #expect(foundCatalogue.plugins.first?.manifestPath == folder("two/c/c.plugin.json"))
        #expect(foundCatalogue.plugins.first?.libraryPath == folder("two/c/plugin.so"))
        #expect(foundCatalogue["org.one.a"]?.folder == folder("one/a"))
        #expect(foundCatalogue["org.nobody"] == nil)
    }

    @Test func onlyTheManifestNamedAsItsFolderIsUsed() throws {
        try install("all/a", "org.expected")
        try folder.file("all/a/other.plugin.json", ManifestText.of("org.other", scheme: "x"))
        #expect(catalogue("all").plugins.map(\.identifier) == ["org.expected"])
    }

    @Test func allManifestsAreUsedIfNoneIsNamedAsItsFolder() throws {
        try folder.file("all/a/one.plugin.json", ManifestText.of("org.one", scheme: "x"))
        try folder.file("all/a/two.plugin.json", ManifestText.of("org.two", scheme: "x"))
        try folder.file("all/direct.plugin.json", ManifestText.of("org.direct", scheme: "x"))
        #expect(catalogue("all").plugins.map(\.identifier) == ["org.one", "org.two", "org.direct"])
    }

    @Test func hiddenFilesDeeperFoldersAndOtherFilesAreSkipped() throws {
        try install("all/.hidden", "org.hidden")
        try install("all/a/b", "org.deeper")
        try folder.file("all/.x.plugin.json", "{")
        try folder.file("all/plugin.json", "{")
        try folder.file("all/x.json", "{")
        try folder.file("all/c/x.so")
        try folder.link("all/dangling", to: "nowhere")
        #expect(catalogue("all").plugins.isEmpty)
        #expect(catalogue("all").problems.isEmpty)
    }

    @Test func linkedFoldersAreFollowedAndEachManifestCountsOnce() throws {
        try install("all/z", "org.z")
        try folder.link("all/a", to: "z")
        try install("elsewhere/b", "org.b")
        try folder.link("all/b", to: "../elsewhere/b")
        try folder.link("again", to: "all")
        let foundCatalogue = catalogue("all", "again", "all", "./again/../all")
        #expect(foundCatalogue.plugins.map(\.manifestPath) == ["all/z/z.plugin.json", "elsewhere/b/b.plugin.json"].map { folder($0) })
        #expect(foundCatalogue.problems.isEmpty)
    }

    @Test func firstPluginWithAnIdentifierWins() throws {
        try install("one/b", "org.x")
        try install("one/a", "org.x")
        try install("two/a", "org.x")
        let foundCatalogue = catalogue("one", "two")
        #expect(foundCatalogue["org.x"]?.folder == folder("one/a"))
        #expect(foundCatalogue["org.x"]?.problem == nil)
        #expect(
            foundCatalogue.problems.map(\.description)
                == ["one/b/b", "two/a/a"].map {
                    "\(folder($0)).plugin.json: MANIF-10: org.x is also in '\(folder("one/a/a.plugin.json"))', which is found first; remove one of them"
                })
    }

    @Test func missingFolderIsReportedOnlyIfItIsExpected() {
        #expect(catalogue("none", isExpected: false).problems.isEmpty)
        #expect(
            catalogue("none").problems.map(\.description)
                == ["\(folder("none")): the folder to search for plugins does not exist; make it, or do not name it"])
    }

    @Test func relativeFolderIsRefused() {
        let path = PluginSearchPath(["plugins", ""])
        #expect(
            PluginCatalogue(searching: path, policy: PluginPolicy()).problems.map(\.detail)
                == [String](repeating: "a folder to search needs an absolute path; write one", count: 2))
    }

    @Test func fileAsSearchFolderIsReported() throws {
        try folder.file("file")
        #expect(catalogue("file").problems.map(\.detail) == ["the folder can't be searched for plugins: Not a directory"])
    }

    @Test func badPluginsDoNotPreventGoodOnes() throws {
        try install("all/good", "org.good")
        try folder.plugin("all/broken", "{\n  nonsense")
        try folder.folder("all/folder.plugin.json")
        try folder.file("all/huge/huge.plugin.json", String(repeating: " ", count: PluginManifest.sizeLimit + 1))
        try folder.folder("all/pipe")
        try folder.pipe("all/pipe/pipe.plugin.json")
        try install("all/open", "org.open")
        try folder.chmod("all/open", 0o777)
        try install("all/zwritable", "org.writable")
        try folder.chmod("all/zwritable/zwritable.plugin.json", 0o666)
        let foundCatalogue = catalogue("none", "all")
        #expect(foundCatalogue.plugins.map(\.identifier) == ["org.good"])
        let permissionProblem = "MANIF-09: it is writable by everybody; remove that permission (chmod o-w)"
        #expect(
            foundCatalogue.problems.map(\.description)
                == [
                    "none: the folder to search for plugins does not exist; make it, or do not name it",
                    "all/broken/broken.plugin.json:2:11: MANIF-01: the text ends too early",
                    "all/folder.plugin.json: MANIF-01: the manifest can't be read: Is a directory",
                    "all/huge/huge.plugin.json: MANIF-01: it has over 1048576 bytes, which is the limit", "all/open: \(permissionProblem)",
                    "all/pipe/pipe.plugin.json: MANIF-01: the manifest can't be read: it is a FIFO; name a plugin's folder, manifest or library",
                    "all/zwritable/zwritable.plugin.json: \(permissionProblem)",
                ].map { folder($0) })
    }

    @Test func folderWritableByOthersIsNotSearched() throws {
        try install("all/a", "org.a")
        for mode in [0o777, 0o1777] as [UInt32] {
            try folder.chmod("all", mode)
            #expect(catalogue("all").plugins.isEmpty)
            #expect(catalogue("all").problems.map(\.path) == [folder("all")])
        }
    }

    @Test func hostVersionOutOfRangeIsReported() throws {
        try folder.plugin("all/a", ManifestText.of("org.a", scheme: "x", more: ["hostVersions": "\">=99.0.0\""]))
        try folder.file("all/\u{301}.plugin.json", ManifestText.of("org.b", scheme: "x", more: ["hostVersions": "\">=0.1.0\""]))
        let foundCatalogue = catalogue("all")
        #expect(
            foundCatalogue.problems.map(\.description) == [
                "\(folder("all/a/a.plugin.json")): MANIF-06: the plugin org.a is for hosts >=99.0.0, but this host is \(portolanVersion); install a version of the plugin for this host"
            ])
        #expect(foundCatalogue["org.b"]?.folder == folder("all"))
    }

    @Test(.enabled(if: TestFolder.canGiveAway, "only root can give files to others"))
    func pluginOfAnotherUserIsNotUsed() throws {
        try install("all/a", "org.a")
        try install("all/b", "org.b")
        try folder.chown("all/a/a.plugin.json", user: 54321)
        #expect(catalogue("all").plugins.map(\.identifier) == ["org.b"])
        #expect(catalogue("all").problems.map(\.rule) == [.filesAreTrusted])
    }
}
