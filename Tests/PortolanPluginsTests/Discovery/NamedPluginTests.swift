// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanPlugins

/// A plugin that the user specifies by its path.
@Suite struct NamedPluginTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
        try folder.folder("installed")
    }

    private func catalogue(_ policy: PluginPolicy = PluginPolicy()) -> PluginCatalogue {
        PluginCatalogue(searching: PluginSearchPath([folder("installed")]), policy: policy)
    }

    @Test(arguments: ["mine/template", "mine/template/", "mine/template/template.plugin.json", "mine/../mine/./template"])
    func folderOrManifestNamesThePlugin(name: String) throws {
        try folder.plugin("mine/template", ManifestText.template(), fixture: "template")
        let plugin = try catalogue().plugin(at: folder(name))
        #expect(plugin.manifestPath == folder("mine/template/template.plugin.json"))
        #expect(plugin.warnings.isEmpty)
        #expect(try plugin.open().identifier == "org.portolan.template")
    }

    @Test("The path of a library selects the manifest in its folder that names the library") func libraryPathSelectsItsManifest() throws {
        try folder.plugin("mine/template", ManifestText.template(), fixture: "template")
        try folder.file("mine/template/another.plugin.json", ManifestText.of("org.portolan.other", scheme: "other", library: "other.so"))
        #expect(try catalogue().plugin(at: folder("mine/template/plugin.so")).identifier == "org.portolan.template")
        try folder.link("mine/template/link.so", to: "plugin.so")
        #expect(try catalogue().plugin(at: folder("mine/template/link.so")).identifier == "org.portolan.template")
    }

    @Test(
        "A library without a manifest is refused, and the error names the manifest to write", arguments: ["tide.so", "tide.so.1.2", "tide"])
    func libraryWithoutAManifestIsRefused(name: String) throws {
        try folder.folder("mine")
        try folder.library("mine/\(name)", "template")
        #expect(
            #expect(throws: PluginProblem.self) { try catalogue().plugin(at: folder("mine/\(name)")) }?.description
                == "\(folder("mine/\(name)")): MANIF-01: it is a library, but no manifest in its folder names it; "
                + "write '\(folder("mine/tide.plugin.json"))' with \"library\": \"\(name)\"")
    }

    @Test("If the manifest of a library is invalid, the error names the manifest and the line")
    func unreadableManifestOfALibraryIsReported()
        throws
    {
        try folder.plugin("mine/template", "{", fixture: "template")
        let problem = #expect(throws: PluginProblem.self) { try catalogue().plugin(at: folder("mine/template/plugin.so")) }
        #expect(problem?.path == folder("mine/template/template.plugin.json") && problem?.line == 1)
    }

    @Test("The error of a missing system library names the searched folders and the remedy") func missingSystemLibraryNamesThePath()
        throws
    {
        let binding = #"{"library": "system", "functions": {"f": "void ()"}, "steps": [{"call": "f"}]}"#
        let manifest = ManifestText.of("org.portolan.absent", scheme: "absent", library: "libnosuch.so.7", more: ["binding": binding])
        try folder.plugin("installed/absent", manifest)
        let expectedTexts = [
            "the system library 'libnosuch.so.7' of org.portolan.absent is in none of /usr/local/lib/",
            ", /usr/lib; install the package that contains it",
            "apt-file search libnosuch.so.7", "set 'library' in the manifest to the installed version",
        ]
        let plugin = try #require(catalogue()["org.portolan.absent"])
        let openingError = #expect(throws: LoadError.self) { try plugin.open() }?.message ?? ""
        let problem = #expect(throws: PluginProblem.self) {
            try PluginCatalogue(searching: PluginSearchPath([String]())).plugin(at: folder("installed/absent"))
        }
        for text in expectedTexts { #expect(openingError.contains(text) && problem?.description.contains(text) == true) }
        #expect(problem?.path == folder("installed/absent/absent.plugin.json"))
    }

    @Test func sourceFolderSelectsTheInstalledPlugin() throws {
        try folder.plugin("source/template", ManifestText.template())
        #expect(
            #expect(throws: PluginProblem.self) { try catalogue().plugin(at: folder("source/template")) }?.description
                == "\(folder("source/template/plugin.so")): DESC-01: the library does not exist, and no plugin org.portolan.template is installed; build it first"
        )
        try folder.plugin("installed/template", ManifestText.template(), fixture: "template")
        #expect(try catalogue().plugin(at: folder("source/template")).folder == folder("installed/template"))
    }

    @Test func sourceFolderOfADeniedPluginDoesNotOpen() throws {
        try folder.plugin("source/template", ManifestText.template())
        try folder.plugin("installed/template", ManifestText.template(), fixture: "template")
        var policy = PluginPolicy()
        policy.denied = ["org.portolan.template"]
        let plugin = try catalogue(policy).plugin(at: folder("source/template"))
        #expect(#expect(throws: LoadError.self) { try plugin.open() }?.message.contains("is denied by") == true)
    }

    @Test func manifestWritableByOthersIsAWarning() throws {
        try folder.plugin("mine/template", ManifestText.template(), fixture: "template")
        try folder.chmod("mine/template/template.plugin.json", 0o666)
        #expect(
            try catalogue().plugin(at: folder("mine/template")).warnings.map(\.description) == [
                "\(folder("mine/template/template.plugin.json")): MANIF-09: it is writable by everybody; remove that permission (chmod o-w)"
            ])
    }

    @Test func folderWritableByOthersIsAWarning() throws {
        try folder.plugin("mine/template", ManifestText.template(), fixture: "template")
        try folder.chmod("mine", 0o777)
        let plugin = try catalogue().plugin(at: folder("mine/template"))
        #expect(
            plugin.warnings.map(\.description) == [
                "\(folder("mine")): MANIF-09: it is writable by everybody; remove that permission (chmod o-w)"
            ])
        #expect(try plugin.open().identifier == "org.portolan.template")
        #expect(PluginCatalogue.warnings(ofLibraryAt: folder("mine/template/plugin.so")) == plugin.warnings)
    }

    @Test func namedPluginMustMatchPinIdentifierAndFolder() throws {
        let pin = ["sha256": "\"\(String(repeating: "0", count: 64))\""]
        try folder.plugin("mine/pinned", ManifestText.template(pin), fixture: "template")
        try folder.plugin("mine/other", ManifestText.of("org.portolan.x", scheme: "template"), fixture: "template")
        try folder.plugin("mine/linked", ManifestText.template())
        try folder.link("mine/linked/plugin.so", to: "../other/plugin.so")
        for (name, rule) in [("pinned", "MANIF-04"), ("other", "MANIF-02"), ("linked", "MANIF-03")] {
            let plugin = try catalogue().plugin(at: folder("mine/\(name)"))
            #expect(#expect(throws: LoadError.self) { try plugin.open() }?.message.contains(rule) == true)
        }
    }

    @Test(arguments: [
        ("nothing", "nothing", "there is no such plugin: No such file or directory; check the path"),
        ("empty", "empty", "this folder contains no manifest NAME.plugin.json; write one, or name the library"),
        ("bad", "bad/bad.plugin.json", "'identifier' is missing"),
    ])
    func pathWithoutAPluginIsReported(name: String, problemPath: String, detail: String) throws {
        try folder.folder("empty")
        try folder.plugin("bad", "{}")
        let problem = #expect(throws: PluginProblem.self) { try catalogue().plugin(at: folder(name)) }
        #expect(problem?.path == folder(problemPath))
        #expect(problem?.detail == detail)
    }

    // MARK: A path of a library

    @Test func policyAppliesToANamedLibrary() throws {
        try folder.library("x.so", "template")
        #expect(try catalogue().open(libraryAt: folder("x.so")).identifier == "org.portolan.template")
        var (denying, pinning) = (PluginPolicy(), PluginPolicy())
        denying.denied = ["org.portolan.*"]
        pinning.pins = [("org.portolan.template", String(repeating: "0", count: 64))]
        for (policy, text) in [(denying, "the plugin org.portolan.template is denied by 'org.portolan.*'"), (pinning, "MANIF-04")] {
            let error = #expect(throws: LoadError.self) { try catalogue(policy).open(libraryAt: folder("x.so")) }
            #expect(error?.code == .pluginNotLoadable)
            #expect(error?.message.hasPrefix("\(folder("x.so")): \(text)") == true)
        }
    }

    @Test func libraryWritableByOthersIsAWarning() throws {
        try folder.library("x.so", "template")
        #expect(PluginCatalogue.warnings(ofLibraryAt: folder("x.so")).isEmpty)
        #expect(PluginCatalogue.warnings(ofLibraryAt: folder("none.so")).isEmpty)
        try folder.chmod("x.so", 0o666)
        #expect(PluginCatalogue.warnings(ofLibraryAt: folder("x.so")).map(\.path) == [folder("x.so")])
    }
}
