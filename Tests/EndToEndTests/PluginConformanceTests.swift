// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Loads each conformance URL from the manifests of this repository's plugins through the command line, and compares
/// the result with the manifest.
@Suite(.blocking) struct PluginConformanceTests {
    struct Manifest: Decodable {
        struct Conformance: Decodable { let loads: [ConformanceLoad] }
        struct Binding: Decodable {}
        let library: String
        let conformance: Conformance
        let binding: Binding?
    }

    struct ConformanceLoad: Decodable, Sendable, CustomTestStringConvertible {
        struct Credential: Decodable { let username, password: String }
        let url: String
        let mime: String?
        /// The length of the body, or of the part that arrived before the failure.
        let length: Int?
        let sha256: String?
        let error: String?
        let credential: Credential?
        let tags: [String]
        let needs: [String]?
        var testDescription: String { url }
    }

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The manifests by plugin folder. A plugin without a readable manifest has no loads.
    static let manifests: [String: Manifest] = {
        let plugins = root.appendingPathComponent("Plugins")
        // `try?` because the first test reports missing manifests.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: plugins.path)) ?? []
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        let pairs = names.compactMap { name in
            let file = plugins.appendingPathComponent("\(name)/\(name).plugin.json")
            return (try? decoder.decode(Manifest.self, from: Data(contentsOf: file))).map { (name, $0) }
        }
        return Dictionary(pairs) { first, _ in first }
    }()

    struct LoadOfAPlugin: Sendable, CustomTestStringConvertible {
        /// `nil` for a plugin without its own code.
        let library: String?
        let plugin: String
        let load: ConformanceLoad
        var testDescription: String { load.url }
    }

    /// The loads without prerequisites.
    static let loadsOfPlugins = manifests.sorted { $0.key < $1.key }.flatMap { name, manifest in
        manifest.conformance.loads.filter { $0.needs == nil }.map {
            LoadOfAPlugin(library: manifest.binding == nil ? manifest.library : nil, plugin: name, load: $0)
        }
    }

    @Test func everyManifestHasSucceedingAndFailingLoads() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.root.appendingPathComponent("Plugins").path)
        // The names with a dot are files that the builds of several plugins use.
        #expect(Self.manifests.keys.sorted() == folders.filter { !$0.contains(".") }.sorted())
        for (name, manifest) in Self.manifests {
            #expect(manifest.conformance.loads.contains { $0.error == nil }, "\(name)")
            #expect(manifest.conformance.loads.contains { $0.error != nil }, "\(name)")
        }
    }

    @Test(arguments: loadsOfPlugins)
    func loadBehavesAsItsManifestSays(_ testedLoad: LoadOfAPlugin) throws {
        let (load, program) = (testedLoad.load, try Program())
        let mustTimeOut = load.tags.contains("hangs")
        let error = mustTimeOut ? "timedOut" : load.error
        let plugin = try testedLoad.library.map { try program.copyFixture($0) } ?? program.copyManifest(testedLoad.plugin)
        var arguments = ["get", "--plugin", plugin, load.url]
        if let credential = load.credential { arguments += ["-u", "\(credential.username):\(credential.password)"] }
        if mustTimeOut { arguments += ["--max-time", "0.3"] }
        let outcome = try program.run(arguments)
        #expect((outcome.status == 0) == (error == nil))
        if let length = load.length { #expect(outcome.output.count == length) } else if error != nil { #expect(outcome.output.isEmpty) }
        if let digest = load.sha256 {
            try outcome.output.write(to: program.folder.appendingPathComponent("body"))
            #expect(try program.runScript("sha256sum body").text.hasPrefix(digest))
        }
        if error != nil { #expect(outcome.errors.count == 1) }
        let events = try program.run(["--events"].reduce(into: arguments) { $0.insert($1, at: 1) }).lines
        #expect(events.last?.contains(error.map { "\"\($0)\"" } ?? "\"finished\"") == true)
        if let mime = load.mime { #expect(events.contains { $0.contains(mime) }) }
    }
}
