// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// `portolan plugins list|inspect|validate|schema`.
@Suite(.blocking) struct PluginsCommandTests {
    private let program: Program
    private let search: [String: String]
    private let template: String

    init() throws {
        program = try Program()
        search = ["PORTOLAN_PLUGIN_PATH": "\(program.path)/plugins"]
        template = "\(program.path)/plugins/Template"
        try program.installTemplate()
    }

    private func run(_ arguments: String...) throws -> Program.Outcome {
        try program.run(["plugins"] + arguments, with: search)
    }

    /// Parses output of exactly one line of JSON.
    private func object(_ outcome: Program.Outcome, sourceLocation: SourceLocation = #_sourceLocation) throws -> NSDictionary {
        #expect(outcome.lines.count == 1, sourceLocation: sourceLocation)
        return try #require(try JSONSerialization.jsonObject(with: outcome.output) as? NSDictionary, sourceLocation: sourceLocation)
    }

    /// The members of Template in the JSON of `list`.
    private var templateMembers: [String: Any] {
        [
            "identifier": "org.portolan.template", "name": "Template", "vendor": "The Portolan authors", "version": "1.0.0",
            "schemes": ["template"], "manifest": "\(template)/Template.plugin.json", "library": "\(template)/template.so",
            "problem": NSNull(),
        ]
    }

    @Test func listIsATable() throws {
        let outcome = try run("list")
        #expect(outcome.lines == ["org.portolan.template  1.0.0  template:  \(template)", "1 plugin"])
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
        #expect(try run().output == outcome.output)
    }

    @Test func listPrintsJSON() throws {
        let outcome = try run("list", "--json")
        #expect(try object(outcome) == ["plugins": [templateMembers], "problems": []] as NSDictionary)
        #expect(
            outcome.text.hasPrefix(
                #"{"plugins":[{"identifier":"org.portolan.template","name":"Template","vendor":"The Portolan authors","version":"1.0.0","#))
    }

    /// The error says what the file is, and what the user can name instead.
    @Test(arguments: [("/dev/null", "a device"), ("fifo.json", "a FIFO")])
    func fileThatIsNotRegularIsRefused(path: String, kind: String) throws {
        #expect(try program.runScript("mkfifo fifo.json").status == 0)
        let file = path.hasPrefix("/") ? path : "\(program.path)/\(path)"
        let errorText = "\(file): MANIF-01: the manifest can't be read: it is \(kind); name a plugin's folder, manifest or library"
        let outcome = try run("validate", path)
        #expect(outcome.lines.first?.hasSuffix(errorText) == true && outcome.status == 107, "\(outcome.lines)")
        let checkOutcome = try program.run("check", path)
        #expect(checkOutcome.status == 107 && checkOutcome.errors == ["portolan: \(errorText)"], "\(checkOutcome.errors)")
        #expect(try program.run("get", "--plugin", "fifo.json", "data:,x").errors.contains { $0.contains("it is a FIFO; name") })
    }

    @Test func listReportsProblems() throws {
        try program.makeFile("plugins/broken.plugin.json", "{")
        try program.installTemplate(as: "again")
        let brokenProblem = "\(program.path)/plugins/broken.plugin.json:1:2: MANIF-01: the text ends too early"
        let duplicateProblem =
            "\(program.path)/plugins/again/again.plugin.json: MANIF-10: org.portolan.template is also in '\(template)/Template.plugin.json', which is found first; remove one of them"
        let outcome = try run("list")
        #expect(
            outcome.lines == [
                "org.portolan.template  1.0.0  template:  \(template)", "org.portolan.template  1.0.0  template:  not used",
                "problem: \(brokenProblem)",
                "problem: \(duplicateProblem)", "1 plugin, 2 problems",
            ])
        #expect(outcome.status == 0)
        #expect(try object(run("list", "--json"))["problems"] as? [String] == [brokenProblem, duplicateProblem])
    }

    @Test func emptyListIsNotAnError() throws {
        let outcome = try program.run("plugins", "list")
        #expect(outcome.lines == ["0 plugins"] && outcome.status == 0)
    }

    @Test func inspectShowsTheManifest() throws {
        let outcome = try run("inspect", "org.portolan.template")
        let digest = try String(#require(program.runScript("sha256sum plugins/Template/template.so").text.split(separator: " ").first))
        #expect(
            outcome.lines.prefix(8) == [
                "Template 1.0.0, The Portolan authors", "identifier  org.portolan.template", "schemes     template:",
                "manifest    \(template)/Template.plugin.json", "library     \(template)/template.so", "sha256      \(digest)",
                "hosts       >=0.1.0 <1.0.0",
                "setting     greeting: string, default 'Hello'; The word before the name, 1 to 200 bytes.",
            ])
        #expect(outcome.lines.contains("            template://greet/World"))
        #expect(outcome.status == 0)
        for name in [template, "\(template)/Template.plugin.json", "./plugins/Template", "plugins/Template/"] {
            #expect(try run("inspect", name).output == outcome.output)
        }
    }

    @Test func inspectPrintsJSON() throws {
        let json = try object(run("inspect", "--json", template))
        var members = try #require(json as? [String: Any])
        let (loads, settings) = (members.removeValue(forKey: "conformance") as? [NSDictionary], members.removeValue(forKey: "settings"))
        let digest = members.removeValue(forKey: "sha256") as? String
        let furtherMembers: [String: Any] = [
            "description": NSNull(), "pinned": NSNull(), "hostVersions": ">=0.1.0 <1.0.0", "permissions": [String](),
            "warnings": [String](),
        ]
        #expect(members as NSDictionary == templateMembers.merging(furtherMembers) { $1 } as NSDictionary)
        #expect(digest?.count == 64)
        #expect(
            settings as? NSArray == [
                [
                    "name": "greeting", "type": "string", "default": "Hello", "required": false,
                    "description": "The word before the name, 1 to 200 bytes.", "minimum": NSNull(), "maximum": NSNull(),
                ] as [String: Any]
            ] as NSArray)
        #expect(
            loads?.first == [
                "url": "template://greet/World", "status": NSNull(), "mime": "text/plain", "length": 14,
                "sha256": "c98c24b677eff44860afea6f493bbaec5bb1c4cbb209c6fc2bbb47f66ff2ad31", "tags": ["small"], "error": NSNull(),
                "needs": [String](),
            ] as NSDictionary)
    }

    @Test func inspectOfAnUnknownPluginIsOneLine() throws {
        let outcome = try run("inspect", "org.nobody")
        #expect(outcome.errors == ["portolan: org.nobody: there is no such plugin: No such file or directory; check the path"])
        #expect(outcome.status == 107 && outcome.output.isEmpty)
    }

    @Test func validateOpensInstalledPlugins() throws {
        let outcome = try run("validate")
        #expect(outcome.lines == ["org.portolan.template: valid"])
        #expect(outcome.status == 0 && outcome.errors.isEmpty)
        #expect(
            try object(run("validate", "--json", "org.portolan.template")) == [
                "plugins": [
                    ["plugin": "org.portolan.template", "valid": true, "problems": [String](), "warnings": [String]()] as [String: Any]
                ],
                "valid": true,
            ] as NSDictionary)
    }

    @Test func validateReportsProblemsAndFails() throws {
        try program.makeFile("plugins/Template/template.so", "no library")
        try program.makeFile("plugins/broken.plugin.json", "{")
        try program.installTemplate(in: "mine") {
            $0.replacing("\"conformance\"", with: "\"x\"").replacing(/,\s*"x":.*/.dotMatchesNewlines(), with: "}")
        }
        let openingProblem =
            "DESC-01: the plugin library '\(template)/template.so' can't be used: it is not a shared library (ELF); give the path of the compiled plugin"
        let brokenProblem = "\(program.path)/plugins/broken.plugin.json:1:2: MANIF-01: the text ends too early"
        let outcomeOfAllPlugins = try run("validate")
        #expect(outcomeOfAllPlugins.lines == [brokenProblem, "org.portolan.template: \(openingProblem)"])
        #expect(outcomeOfAllPlugins.status == 107 && outcomeOfAllPlugins.errors.isEmpty)

        try program.setPermissions(0o777, of: "mine")
        let secondFolder = "\(program.path)/mine/Template"
        let outcomeOfTwoPlugins = try object(run("validate", "--json", "mine/Template", "org.portolan.template"))
        let warnings = [
            "\(program.path)/mine: MANIF-09: it is writable by everybody; remove that permission (chmod o-w)",
            "\(secondFolder)/Template.plugin.json: MANIF-05: no conformance section describes the results of its URLs; write one for 'portolan check'",
        ]
        #expect(
            outcomeOfTwoPlugins == [
                "plugins": [
                    ["plugin": "mine/Template", "valid": true, "problems": [String](), "warnings": warnings] as [String: Any],
                    ["plugin": "org.portolan.template", "valid": false, "problems": [openingProblem], "warnings": [String]()]
                        as [String: Any],
                ], "valid": false,
            ] as NSDictionary)
    }

    @Test("validate of a library checks the manifest in its folder, or reports the missing manifest") func validateTakesALibrary() throws {
        #expect(try run("validate", "plugins/Template/template.so").lines == ["plugins/Template/template.so: valid"])
        try program.makeFile("alone/tide.so.1", "\u{7F}ELF")
        let outcome = try run("validate", "alone/tide.so.1")
        #expect(outcome.status == 107)
        #expect(
            outcome.text.contains(
                "it is a library, but no manifest in its folder names it; write "
                    + "'\(program.path)/alone/tide.plugin.json'"))
    }

    @Test("validate of an unknown identifier shows the unreadable manifests") func validateShowsUnreadableManifests() throws {
        try program.makeFile("plugins/broken.plugin.json", "{")
        let outcome = try run("validate", "org.example.broken")
        #expect(outcome.status == 107)
        #expect(outcome.text.contains("\(program.path)/plugins/broken.plugin.json:1:2: MANIF-01: the text ends too early"))
    }

    @Test("validate of a missing system library names the searched folders") func validateNamesTheSearchPath() throws {
        let binding = #"{"library": "system", "functions": {"f": "void ()"}, "steps": [{"call": "f"}]}"#
        let manifest =
            #"{"identifier": "org.example.x", "name": "X", "vendor": "V", "version": "1.0.0", "library": "libnosuch.so.7", "schemes": ["x"], "binding": \#(binding)}"#
        try program.makeFile("plugins/x/x.plugin.json", manifest)
        for name in ["org.example.x", "plugins/x"] {
            let text = try run("validate", name).text
            #expect(text.contains("'libnosuch.so.7' of org.example.x is in none of /usr/local/lib/") && text.contains("apt-file search"))
        }
    }

    @Test func schemaIsPublished() throws {
        let published = PluginConformanceTests.root.appendingPathComponent("docs/plugin-manifest.schema.json")
        let outcome = try run("schema")
        #expect(try outcome.output == Data(contentsOf: published))
        #expect(outcome.status == 0)
        #expect(try object(run("schema", "--json")) == JSONSerialization.jsonObject(with: outcome.output) as? NSDictionary)
    }

    @Test(arguments: [["inspect"], ["nosuch"], ["list", "x"], ["schema", "x"]])
    func invalidCommandLineIsReportedInOneLine(arguments: [String]) throws {
        let outcome = try program.run(["plugins"] + arguments)
        #expect(outcome.status == 2 && outcome.errors.count == 1)
    }
}
