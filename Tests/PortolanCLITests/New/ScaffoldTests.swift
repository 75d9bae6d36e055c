// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
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
        for name in [
            "Sources/CPortolan/include/portolan/portolan.h", "Package.swift", "PluginKit/Package.swift", "PluginKit/Rust/README.md",
        ] {
            try folder.write([], to: "checkout/\(name)")
        }
        for name in ["mod", "client"] { try folder.write(Array("// \(name)\n".utf8), to: "checkout/PluginKit/Rust/\(name).rs") }
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

    @Test func cPlusPlusPluginExportsOneSymbol() throws {
        let files = try files(.cPlusPlus)
        let source = try #require(files["view-source.cpp"]?.text)
        #expect(source.contains("class ViewSourceHandler final : public portolan::Handler"))
        let texts = #""org.example.view-source", "ViewSource", "Example", "0.1.0", "view-source""#
        #expect(source.contains("PORTOLAN_PLUGIN(ViewSourceHandler, \(texts))"))
        #expect(files["exports.map"]?.text.contains("global: portolan_plugin_entry;\n    local: *;") == true)
        #expect(files["Makefile"]?.text.contains("-Wl,--version-script=exports.map") == true)
    }

    @Test func cPlusPlusHasTwoNames() {
        #expect(PluginLanguage(argument: "c++") == .cPlusPlus && PluginLanguage(argument: "cpp") == .cPlusPlus)
        #expect(PluginLanguage(argument: "c") == .c && PluginLanguage(argument: "cobol") == nil)
        #expect(PluginLanguage.allValueStrings == ["c", "c++", "swift", "rust", "binding"])
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

    @Test func rustPluginHasACopyOfTheKitAndNoDependencies() throws {
        let files = try files(.rust)
        #expect(files.keys.filter { $0.hasPrefix("src/") }.sorted() == ["src/lib.rs", "src/portolan/client.rs", "src/portolan/mod.rs"])
        #expect(files["src/portolan/client.rs"]?.text == "// client\n")
        let source = try #require(files["src/lib.rs"]?.text)
        #expect(source.contains("impl Handler for ViewSourceSchemeHandler") && source.contains("schemes: [\"view-source\"]"))
        #expect(source.contains("#![deny(unsafe_code)]"))
        let package = try #require(files["Cargo.toml"]?.text)
        #expect(package.contains("name = \"view-source-plugin\"") && package.contains("crate-type = [\"cdylib\"]"))
        #expect(!package.contains("dependencies"))
        #expect(files["Makefile"]?.text.contains("\n\t$(BUILD)\n") == true)
    }

    @Test func rustPluginNeedsAKit() throws {
        try folder.write([], to: "usr/include/portolan/portolan.h")
        for executable in [nil, folder.path(of: "portolan"), folder.path(of: "usr/lib/portolan/portolan")] {
            let failure = #expect(throws: Failure.self) { try Scaffold(name, in: .rust, from: CommandOrigin(executable: executable)) }
            #expect(failure?.status == .notOffered && failure?.message?.contains("make install") == true)
        }
    }

    @Test func unreadableFileOfTheRustKitIsReported() throws {
        let origin = try makeOrigin()
        try folder.write([], to: "checkout/PluginKit/Rust/folder.rs/file")
        let failure = #expect(throws: Failure.self) { try Scaffold(name, in: .rust, from: origin) }
        #expect(failure?.status == .unreadable && failure?.message?.contains("checkout/PluginKit/Rust'") == true)
    }

    @Test(arguments: [PluginLanguage.c, .cPlusPlus]) func cPluginNeedsHeaders(language: PluginLanguage) throws {
        for executable in [nil, folder.path(of: "portolan")] {
            let failure = #expect(throws: Failure.self) { try Scaffold(name, in: language, from: CommandOrigin(executable: executable)) }
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
