// SPDX-License-Identifier: Apache-2.0

import Portolan
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

    private func files(_ language: PluginLanguage, _ executable: String? = nil) -> [String: Scaffold.File] {
        let scaffold = Scaffold(name, in: language, from: CommandOrigin(executable: executable))
        return Dictionary(uniqueKeysWithValues: scaffold.files.map { ($0.path, $0) })
    }

    @Test(arguments: PluginLanguage.allCases) func eachHasAManifestThatIsRead(language: PluginLanguage) throws {
        let files = files(language)
        let text = try #require(files["view-source.plugin.json"]?.text)
        let manifest = try PluginManifest(parsing: Array(text.utf8), path: "view-source.plugin.json")
        #expect(manifest.identifier == "org.example.view-source" && manifest.schemes == .only(["view-source"]))
        #expect(manifest.bindsLibrary == (language == .binding) && manifest.conformance?.loads.count == 2)
        #expect(text.contains("\"$schema\": \"./plugin-manifest.schema.json\""))
        #expect(files["plugin-manifest.schema.json"]?.text == PluginManifest.schema)
        #expect(files["test.sh"]?.isExecutable == true && files["README.md"] != nil && files["Makefile"] != nil)
    }

    @Test func theSwiftOneExportsOneSymbolOfTheKits() throws {
        let files = files(.swift)
        let source = try #require(files["Sources/ViewSourcePlugin/ViewSourceSchemeHandler.swift"]?.text)
        #expect(source.contains("struct ViewSourceSchemeHandler: PluginHandler") && source.contains("schemes: [\"view-source\"]"))
        #expect(source.contains("@_cdecl(\"portolan_plugin_entry\")") && !source.contains("unsafe"))
        #expect(files["exports.map"]?.text.contains("global: portolan_plugin_entry;\n    local: *;") == true)
        let package = try #require(files["Package.swift"]?.text)
        #expect(package.contains(".library(name: \"ViewSourcePlugin\", type: .dynamic, targets: [\"ViewSourcePlugin\"])"))
        #expect(package.contains(".product(name: \"PortolanPluginKit\", package: \"portolan\")"))
    }

    /// A type of that name would be its own protocol.
    @Test func noNameMakesAHandlerOfTheKitsProtocolsName() throws {
        let scaffold = Scaffold(try PluginName(parsing: "plugin"), in: .swift, from: CommandOrigin(executable: nil))
        #expect(scaffold.files.contains { $0.text.contains("struct PluginSchemeHandler: PluginHandler") })
    }

    @Test func theKitIsTheCheckoutsOrElseThatOfThisVersion() throws {
        #expect(
            try #require(files(.swift)["Package.swift"]?.text)
                .contains("[.package(url: \"https://example.org/portolan.git\", from: \"\(portolanVersion)\")]"))
        try folder.write([], to: "house/Sources/CPortolan/include/portolan/portolan.h")
        try folder.write([], to: "house/Package.swift")
        let files = files(.swift, folder.path(of: "house/.build/debug/portolan"))
        let package = try #require(files["Package.swift"]?.text)
        #expect(package.contains("[.package(name: \"portolan\", path: \"\(folder.path(of: "house"))\")]"))
    }

    @Test func filesLieInANewFolder() throws {
        let scaffold = Scaffold(name, in: .swift, from: CommandOrigin(executable: nil))
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

    @Test func whatExistsIsLeftAsItIs() throws {
        try folder.write([1], to: "old/Makefile")
        let scaffold = Scaffold(name, in: .c, from: CommandOrigin(executable: nil))
        let path = folder.path(of: "old")
        let problem = "'\(path)' exists and is not overwritten; choose another name, or another folder to run this in"
        #expect(throws: Failure(.writeFailed, problem)) { try scaffold.write(to: path) }
        #expect(FileSystem.kind(at: "\(path)/Makefile") != nil && FileSystem.kind(at: "\(path)/README.md") == nil)
    }

    @Test func whatCannotBeWrittenLeavesNothing() throws {
        let nameThatIsTooLong = String(repeating: "x", count: 300)
        let scaffold = Scaffold(
            files: [Scaffold.File(path: "a/b", text: "text"), Scaffold.File(path: nameThatIsTooLong, text: "")])
        let path = folder.path(of: "new")
        #expect(throws: Failure(.writeFailed, "making '\(path)' failed: File name too long")) { try scaffold.write(to: path) }
        #expect(FileSystem.kind(at: path) == nil)
    }
}
