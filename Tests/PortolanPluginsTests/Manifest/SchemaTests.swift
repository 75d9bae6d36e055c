// SPDX-License-Identifier: Apache-2.0

import Foundation
import PortolanJSON
import Testing

@testable import PortolanPlugins

/// The published schema and the decoder agree, according to a third-party implementation of JSON Schema.
@Suite struct SchemaTests {
    private static let root = URL(filePath: Fixtures.package)

    /// Uses Debian's python3-jsonschema to print, for each document of an array, whether the schema allows it.
    private static let validationScript = """
        import json, jsonschema, sys
        schema = json.load(open(sys.argv[1]))
        jsonschema.Draft202012Validator.check_schema(schema)
        validator = jsonschema.Draft202012Validator(schema)
        print(json.dumps([validator.is_valid(json.loads(text)) for text in json.load(open(sys.argv[2]))]))
        """

    private static func verdicts(on texts: [String]) throws -> [Bool] {
        let folder = try TestFolder()
        let cases = try folder.file("cases.json", String(decoding: JSONEncoder().encode(texts), as: UTF8.self))
        let schema = try folder.file("schema.json", PluginManifest.schema)
        let (process, output) = (Process(), try folder.file("verdicts.json"))
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", validationScript, schema, cases]
        process.standardOutput = try FileHandle(forWritingTo: URL(filePath: output))
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "is python3-jsonschema installed? 'make packages' installs it")
        return try JSONDecoder().decode([Bool].self, from: Data(contentsOf: URL(filePath: output)))
    }

    @Test func publishedFileIsTheSchema() throws {
        let published = try String(contentsOf: Self.root.appendingPathComponent("docs/plugin-manifest.schema.json"), encoding: .utf8)
        #expect(published == PluginManifest.schema)
    }

    @Test func schemaAndDecoderAgree() throws {
        let verdicts = try Self.verdicts(on: SchemaCase.all.map(\.json))
        #expect(verdicts.count == SchemaCase.all.count)
        for (subject, isValid) in zip(SchemaCase.all, verdicts) {
            let isRead = (try? PluginManifest(parsing: Array(subject.json.utf8), path: "m")) != nil
            #expect(isRead == (subject.verdict == .valid), "the decoder for \(subject.json.prefix(400))")
            #expect(isValid == (subject.verdict != .invalid), "the schema for \(subject.json.prefix(400))")
        }
    }

    @Test func manifestsInThisPackageAreValid() throws {
        let plugins = Self.root.appendingPathComponent("Plugins")
        let manifests = try FileManager.default.subpathsOfDirectory(atPath: plugins.path).filter {
            $0.hasSuffix(PluginManifest.fileNameEnd)
        }
        #expect(manifests.contains("Template/Template.plugin.json"))
        // The validator reads plain JSON.
        let texts = try manifests.map { name in
            let bytes = try Data(contentsOf: plugins.appendingPathComponent(name))
            return String(decoding: try JSONParser.parse([UInt8](bytes), .json5).bytes, as: UTF8.self)
        }
        for (name, text) in zip(manifests, texts) { _ = try PluginManifest(parsing: Array(text.utf8), path: name) }
        #expect(try Self.verdicts(on: texts) == texts.map { _ in true })
    }

    /// The schema and the decoder must accept the same names.
    @Test func schemaHasTheMemberNamesOfTheDecoder() throws {
        let schema = try JSONSerialization.jsonObject(with: Data(PluginManifest.schema.utf8)) as? [String: Any]
        let names = (schema?["properties"] as? [String: Any])?.keys.sorted()
        #expect(names == PluginManifest.names.sorted())
    }
}
