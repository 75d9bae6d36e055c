// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import Testing

@testable import PortolanPlugins

@Suite struct PluginManifestTests {
    private static func read(_ text: String) throws(PluginProblem) -> PluginManifest {
        try PluginManifest(parsing: Array(text.utf8), path: "m")
    }

    @Test func everyMemberIsRead() throws {
        let manifest = try Self.read(
            ManifestText.with([
                "$schema": "\"plugin-manifest.schema.json\"", "description": "\"What it is for.\"", "schemes": "[\"x\", \"a+b-c.1\"]",
                "sha256": "\"\(String(repeating: "aB", count: 32))\"", "hostVersions": "\">=0.1.0 <2.0.0\"", "library": "\"lib/x.so\"",
                "permissions": "[\"cookies\"]",
                "settings": """
                {"z": {"type": "boolean", "required": true}, "a": {"type": "integer", "default": 3, "minimum": 1, "maximum": 9, "description": "D"}}
                """,
                "conformance": """
                {"loads": [{"url": "x:1", "status": 204, "mime": "text/plain", "length": 0, "sha256": "\(String(repeating: "0F", count: 32))",
                            "tags": ["small", "empty"], "error": "org.portolan.x:-7", "credential": {"username": "u", "password": ""},
                            "needs": ["server: run"]}, {"url": "x:2"}]}
                """,
            ]))
        #expect(manifest.identifier == "org.portolan.x")
        #expect([manifest.name, manifest.vendor, manifest.version.description, manifest.library] == ["X", "V", "1.0.0", "lib/x.so"])
        #expect(manifest.summary == "What it is for.")
        #expect(manifest.sha256 == String(repeating: "ab", count: 32))
        #expect(manifest.schemes == .only(["x", "a+b-c.1"]))
        #expect(manifest.hostVersions?.text == ">=0.1.0 <2.0.0")
        #expect(manifest.permissions == [.cookies])
        #expect(manifest.settings.map(\.name) == ["a", "z"])
        try #require(manifest.settings.count > 1)
        let (integerSetting, booleanSetting) = (manifest.settings[0], manifest.settings[1])
        #expect(
            integerSetting.kind == .integer && integerSetting.defaultValue == .integer(3) && integerSetting.minimum == 1
                && integerSetting.maximum == 9 && integerSetting.summary == "D" && !integerSetting.isRequired)
        #expect(
            booleanSetting.kind == .boolean && booleanSetting.defaultValue == nil && booleanSetting.isRequired
                && booleanSetting.summary == nil && booleanSetting.minimum == nil)
        let load = try #require(manifest.conformance?.loads.first)
        #expect(manifest.conformance?.loads.count == 2)
        #expect(load.url == "x:1" && load.status == 204 && load.mime == "text/plain" && load.length == 0)
        #expect(load.sha256 == String(repeating: "0f", count: 32) && load.tags == [.small, .empty] && load.error == "org.portolan.x:-7")
        #expect(load.credential?.username == "u" && load.credential?.password == "" && load.needs == ["server: run"])
    }

    @Test func serversAreReadAndReplacedInURLs() throws {
        let manifest = try Self.read(
            ManifestText.with([
                "conformance": """
                {"services": {"cache": {"command": ["memcached", "-p", "{port}"], "ready": "ready"}},
                 "loads": [{"url": "x://{cache}/a?{cache}", "needs": ["cache"]}, {"url": "x://{other}/", "needs": []}]}
                """
            ]))
        let section = try #require(manifest.conformance)
        let service = try #require(section.services["cache"])
        #expect(service.command == ["memcached", "-p", "{port}"] && service.readyText == "ready")
        let loads = section.loads.map { $0.withAddresses(["cache": "127.0.0.1:7", "other": "h:1"]) }
        #expect(loads.map(\.url) == ["x://127.0.0.1:7/a?127.0.0.1:7", "x://{other}/"] && loads.allSatisfy(\.needs.isEmpty))
        #expect(section.loads[0].withAddresses([:]) == section.loads[0])
    }

    @Test func sectionWithoutExamplesSaysWhatIsMissing() throws {
        for (loads, missing) in [
            (#"{"url": "x:1"}, {"url": "x:2", "error": "notFound"}"#, []), (#"{"url": "x:1"}"#, ["names no URL that fails"]),
            (#"{"url": "x:1", "tags": ["hangs"]}"#, ["names no URL that succeeds", "names no URL that fails"]),
        ] {
            let section = try ConformanceSection(parsing: Array(#"{"loads": [\#(loads)]}"#.utf8), path: "m")
            #expect(section.missingExamples == missing)
        }
    }

    @Test func omittedMembersAreNil() throws {
        let manifest = try Self.read(ManifestText.with())
        #expect(manifest.summary == nil && manifest.sha256 == nil && manifest.hostVersions == nil && manifest.conformance == nil)
        #expect(manifest.settings.isEmpty && manifest.permissions.isEmpty)
    }

    @Test func schemesMayBeAny() throws {
        #expect(try Self.read(ManifestText.with(["schemes": "\"any\""])).schemes == .any)
    }

    @Test func json5SyntaxIsRead() throws {
        let text = """
            // A plugin.
            {identifier: 'org.portolan.x', /* two
            lines */ name: "X", 'vendor': 'it\\'s\\
             V', version: '1.0.0', library: 'x.so', schemes: ['x',], settings: {n: {type: 'integer', default: 0x1F, minimum: +1., maximum: 1e3}},}
            """
        let manifest = try Self.read(text)
        #expect(manifest.vendor == "it's V")
        #expect(manifest.settings.first?.defaultValue == .integer(31))
        #expect(manifest.settings.first?.maximum == 1000)
    }

    @Test func byteOrderMarkAndAnyMemberOrderAreAccepted() throws {
        let lines = ManifestText.with().split(separator: "\n").dropFirst().dropLast().map { $0.hasSuffix(",") ? $0.dropLast() : $0 }
        let text = "\u{FEFF}{" + lines.reversed().joined(separator: ",\r\n") + "}"
        #expect(try Self.read(text) == Self.read(ManifestText.with()))
    }

    @Test func truncatedManifestIsRefusedWithLineAndColumn() throws {
        let text = Array(ManifestText.with(["settings": "{/* é */ 's': {\"type\": 'string', default: \"ü\"}}"]).utf8.dropLast())
        _ = try PluginManifest(parsing: text, path: "m")
        for length in 0..<text.count {
            let problem = #expect(throws: PluginProblem.self) { try PluginManifest(parsing: Array(text[..<length]), path: "m") }
            #expect(problem?.rule == .manifestIsValid && problem?.line != nil && problem?.column != nil, "\(length)")
        }
    }

    @Test func manifestIsLimitedToOneMebibyte() throws {
        let text = Array(ManifestText.with().utf8)
        let largest = text + [UInt8](repeating: 0x20, count: PluginManifest.sizeLimit - text.count)
        _ = try PluginManifest(parsing: largest, path: "m")
        let problem = #expect(throws: PluginProblem.self) { try PluginManifest(parsing: largest + [0x20], path: "m") }
        #expect(problem?.description == "m: MANIF-01: it has over 1048576 bytes, which is the limit")
    }

    @Test func deeplyNestedValuesAreRefused() {
        let text = Array(ManifestText.with(["x": String(repeating: "[", count: 100_000)]).utf8)
        let problem = #expect(throws: PluginProblem.self) { try PluginManifest(parsing: text, path: "m") }
        #expect(problem?.detail == "values are nested too deeply")
    }

    @Test func deepestManifestFitsTheStackOfALoadThread() throws {
        let outcome = ConditionLock<[String?]>([])
        try PlatformThread.start {
            for depth in [64, 65, 500] {
                let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
                do throws(PluginProblem) {
                    _ = try PluginManifest(parsing: Array(ManifestText.with(["x": value]).utf8), path: "m")
                    outcome.withLockBroadcasting { $0.append(nil) }
                } catch {
                    outcome.withLockBroadcasting { $0.append(error.detail) }
                }
            }
        }
        let details = outcome.wait { $0.count == 3 ? $0 : nil }
        #expect(details.first??.hasPrefix("'x' is not a known name here") == true)
        #expect(details.dropFirst() == ["values are nested too deeply", "values are nested too deeply"])
    }

    /// A member whose value has the requested number of bytes, elements or members.
    struct Limit: Sendable, CustomTestStringConvertible {
        let name: String
        let count: Int
        let json: @Sendable (Int) -> String
        var testDescription: String { "\(name), \(count)" }

        init(_ name: String, _ count: Int, _ json: @escaping @Sendable (Int) -> String) {
            (self.name, self.count, self.json) = (name, count, json)
        }

        static func list(_ count: Int, _ element: (Int) -> String) -> String { (0..<count).map(element).joined(separator: ",") }
        static func text(_ count: Int) -> String { String(repeating: "b", count: count) }
    }

    @Test(arguments: [
        Limit("identifier", 255) { "\"a.\(Limit.text($0 - 2))\"" }, Limit("name", 1024) { "\"\(Limit.text($0))\"" },
        Limit("description", 1024) { "\"é\(Limit.text($0 - 2))\"" }, Limit("library", 1024) { "\"\(Limit.text($0))\"" },
        Limit("schemes", 64) { "[\(Limit.list($0) { "\"x\($0)\"" })]" },
        Limit("settings", 256) { "{\(Limit.list($0) { "\"x\($0)\":{\"type\":\"string\"}" })}" },
        Limit("settings", 64) { "{\"\(Limit.text($0))\":{\"type\":\"string\"}}" },
        Limit("conformance", 1024) { "{\"loads\":[\(Limit.list($0) { "{\"url\":\"x:\($0)\"}" })]}" },
        Limit("conformance", 16) { "{\"loads\":[{\"url\":\"x:\",\"needs\":[\(Limit.list($0) { "\"\($0)\"" })]}]}" },
    ])
    func limitIsInclusive(limit: Limit) throws {
        _ = try Self.read(ManifestText.with([limit.name: limit.json(limit.count)]))
        #expect(throws: PluginProblem.self) { try Self.read(ManifestText.with([limit.name: limit.json(limit.count + 1)])) }
    }

    @Test func manifestOfTheTemplateIsValid() throws {
        let root = URL(filePath: Fixtures.package)
        let path = root.appendingPathComponent("Plugins/Template/Template.plugin.json").path
        let manifest = try PluginManifest(parsing: Array(Data(contentsOf: URL(filePath: path))), path: path)
        #expect(manifest.identifier == "org.portolan.template")
        #expect(manifest.conformance?.loads.isEmpty == false)
    }
}
