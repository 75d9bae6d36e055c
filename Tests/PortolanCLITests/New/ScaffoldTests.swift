// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanFileSystem
import PortolanPlugins
import PortolanTestSupport
import Testing

@testable import PortolanCLI

@Suite struct ScaffoldTests {
    private let folder: TemporaryFolder
    private let name: PluginName

    init() throws {
        folder = try TemporaryFolder()
        name = try PluginName(parsing: "view-source")
    }

    /// The origin of a command in a checkout that the test creates.
    private func makeOrigin() throws -> CommandOrigin {
        for name in ["Sources/CPortolan/include/portolan/portolan.h", "Package.swift", "PluginKit/Package.swift"] {
            try folder.write([], to: "checkout/\(name)")
        }
        return CommandOrigin(executable: folder.path(of: "checkout/.build/debug/portolan"))
    }

    /// The files of a new plugin, by path.
    private func files(_ language: PluginLanguage) throws -> [String: Scaffold.File] {
        let scaffold = try Scaffold(name, in: language, from: makeOrigin())
        let files = Dictionary(scaffold.files.map { ($0.path, $0) }) { first, _ in first }
        #expect(files.count == scaffold.files.count, "two files have the same path")
        return files
    }

    @Test(arguments: PluginLanguage.allCases) func eachLanguageHasAValidManifest(language: PluginLanguage) throws {
        let files = try files(language)
        let text = try #require(files["view-source.plugin.json"]?.text)
        let manifest = try PluginManifest(parsing: Array(text.utf8), path: "view-source.plugin.json")
        #expect(manifest.identifier == "org.example.view-source" && manifest.schemes == .only(["view-source"]))
        #expect(manifest.bindsLibrary == (language == .binding) && manifest.conformance?.loads.count == 2)
        #expect(text.contains("\"$schema\": \"./plugin-manifest.schema.json\""))
        #expect(files["plugin-manifest.schema.json"]?.text == PluginManifest.schema)
        #expect(files["test.sh"]?.isExecutable == true && files["README.md"] != nil && files["Makefile"] != nil)
    }

    @Test func swiftPluginExportsOneSymbol() throws {
        let files = try files(.swift)
        let source = try #require(files["Sources/ViewSourcePlugin/ViewSourceSchemeHandler.swift"]?.text)
        #expect(source.contains("struct ViewSourceSchemeHandler: PluginHandler") && source.contains("schemes: [\"view-source\"]"))
        #expect(source.contains("@_cdecl(\"portolan_plugin_entry\")") && !source.contains("unsafe"))
        #expect(files["exports.map"]?.text.contains("global: portolan_plugin_entry;\n    local: *;") == true)
        let package = try #require(files["Package.swift"]?.text)
        #expect(package.contains(".library(name: \"ViewSourcePlugin\", type: .dynamic, targets: [\"ViewSourcePlugin\"])"))
        #expect(package.contains(".product(name: \"PortolanPluginKit\", package: \"portolan\")"))
    }

    /// A struct named `PluginHandler` could not conform to the protocol `PluginHandler` of the kit.
    @Test func handlerNameDiffersFromTheProtocolOfTheKit() throws {
        let scaffold = try Scaffold(PluginName(parsing: "plugin"), in: .swift, from: makeOrigin())
        #expect(scaffold.files.contains { $0.text.contains("struct PluginSchemeHandler: PluginHandler") })
    }

    @Test func commandInACheckoutUsesTheKitOfTheCheckout() throws {
        let package = try #require(files(.swift)["Package.swift"]?.text)
        #expect(package.contains("?? \"\(folder.path(of: "checkout/PluginKit"))\""), "\(package)")
        #expect(package.contains("[.package(name: \"portolan\", path: kit)]") && !package.contains("url:"), "\(package)")
    }

    @Test func installedCommandUsesTheInstalledKit() throws {
        for name in ["include/portolan/portolan.h", "share/portolan/PluginKit/Package.swift"] { try folder.write([], to: "usr/\(name)") }
        let origin = CommandOrigin(executable: folder.path(of: "usr/lib/portolan/portolan"))
        let scaffold = try Scaffold(name, in: .swift, from: origin)
        let package = try #require(scaffold.files.first { $0.path == "Package.swift" }?.text)
        #expect(package.contains("?? \"\(folder.path(of: "usr/share/portolan/PluginKit"))\""), "\(package)")
    }

    @Test func swiftPluginNeedsAKit() throws {
        try folder.write([], to: "usr/include/portolan/portolan.h")
        for executable in [nil, folder.path(of: "portolan"), folder.path(of: "usr/lib/portolan/portolan")] {
            let origin = CommandOrigin(executable: executable)
            let failure = #expect(throws: Failure.self) { try Scaffold(name, in: .swift, from: origin) }
            #expect(failure?.status == .notOffered)
            #expect(failure?.message?.contains("make install") == true)
            let files = try Scaffold(name, in: .binding, from: origin).files
            #expect(!files.contains { $0.text.contains("example.org/portolan") })
        }
    }

    @Test func cPluginNeedsHeaders() throws {
        for executable in [nil, folder.path(of: "portolan")] {
            let failure = #expect(throws: Failure.self) { try Scaffold(name, in: .c, from: CommandOrigin(executable: executable)) }
            #expect(failure?.status == .notOffered && failure?.message?.contains("make install") == true)
        }
    }

    @Test func filesAreWrittenToANewFolder() throws {
        let scaffold = try Scaffold(name, in: .swift, from: makeOrigin())
        try scaffold.write(to: folder.path(of: "new"))
        for file in scaffold.files {
            let path = folder.path(of: "new/\(file.path)")
            guard case .regular(let mode)? = FileSystem.kind(at: path) else {
                Issue.record("\(file.path) is missing")
                continue
            }
            #expect((mode & 0o100 != 0) == file.isExecutable, "\(file.path)")
        }
    }

    @Test func existingFolderIsUnchanged() throws {
        try folder.write([1], to: "old/Makefile")
        let scaffold = try Scaffold(name, in: .binding, from: CommandOrigin(executable: nil))
        let path = folder.path(of: "old")
        let problem = "'\(path)' exists and is not overwritten; choose another name, or run the command in another folder"
        #expect(throws: Failure(.writeFailed, problem)) { try scaffold.write(to: path) }
        #expect(FileSystem.kind(at: "\(path)/Makefile") != nil && FileSystem.kind(at: "\(path)/README.md") == nil)
    }

    @Test func failedWriteLeavesNoFolder() throws {
        let nameThatIsTooLong = String(repeating: "x", count: 300)
        let scaffold = Scaffold(
            files: [Scaffold.File(path: "a/b", text: "text"), Scaffold.File(path: nameThatIsTooLong, text: "")])
        let path = folder.path(of: "new")
        #expect(throws: Failure(.writeFailed, "creating '\(path)' failed: File name too long")) { try scaffold.write(to: path) }
        #expect(FileSystem.kind(at: path) == nil)
    }
}
