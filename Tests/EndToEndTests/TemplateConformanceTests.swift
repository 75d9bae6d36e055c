// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Every URL that Template's manifest names for the judge does what the manifest says, through the command line.
@Suite struct TemplateConformanceTests {
    struct Manifest: Decodable {
        struct Conformance: Decodable { let loads: [Load] }
        let conformance: Conformance
    }

    struct Load: Decodable, Sendable, CustomTestStringConvertible {
        struct Credential: Decodable { let username, password: String }
        let url: String
        let mime: String?
        let length: Int?
        let sha256: String?
        let error: String?
        let credential: Credential?
        var testDescription: String { url }
    }

    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    static let library = root.appendingPathComponent(".build/fixtures/template.so").path
    static let loads: [Load] = {
        let file = root.appendingPathComponent("Plugins/Template/Template.plugin.json")
        // `try?` because a manifest that cannot be read gives no case, which the first test reports.
        let manifest = try? JSONDecoder().decode(Manifest.self, from: Data(contentsOf: file))
        return manifest?.conformance.loads ?? []
    }()

    @Test func theManifestNamesWhatSucceedsAndWhatFails() {
        #expect(Self.loads.contains { $0.error == nil })
        #expect(Self.loads.contains { $0.error != nil })
    }

    @Test func aHeadHasNoBody() throws {
        let outcome = try Program().run("get", "-I", "--plugin", Self.library, "template://greet/World")
        #expect(outcome.text == "content-type: text/plain;charset=utf-8\ncontent-length: 14\n\n")
        #expect(outcome.status == 0)
        let events = try Program().run(
            "get", "--json", "-v", "-X", "HEAD", "--plugin", Self.library, "template://secret", "-u", "guest:sesame")
        #expect(events.lines.last?.contains(#""event":"finished""#) == true)
    }

    @Test(arguments: ["http://u:s3cr3t@x%20y/", "//u:s3cr3t@x", "u:s3cr3t@%zz"])
    func aRedirectThatIsRefusedQuotesNoPassword(target: String) throws {
        let outcome = try Program().run("get", "--plugin", Self.library, "template://redirect?to=\(target)")
        #expect(outcome.status == 3)
        #expect(outcome.errors.count == 1 && outcome.errors.first?.contains("s3cr3t") == false, "\(outcome.errors)")
    }

    @Test(arguments: loads)
    func aURLDoesWhatTheManifestSays(load: Load) throws {
        let program = try Program()
        var arguments = ["get", "--plugin", Self.library, load.url]
        if let credential = load.credential { arguments += ["-u", "\(credential.username):\(credential.password)"] }
        let outcome = try program.run(arguments)
        #expect((outcome.status == 0) == (load.error == nil))
        if let length = load.length { #expect(outcome.output.count == length) }
        if let digest = load.sha256 {
            try outcome.output.write(to: program.folder.appendingPathComponent("body"))
            #expect(try program.runScript("sha256sum body").text.hasPrefix(digest))
        }
        if load.error != nil {
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.count == 1)
        }
        let events = try program.run(["--json"].reduce(into: arguments) { $0.insert($1, at: 1) }).lines
        #expect(events.last?.contains(load.error.map { "\"\($0)\"" } ?? "\"finished\"") == true)
        if let mime = load.mime { #expect(events.contains { $0.contains(mime) }) }
    }
}
