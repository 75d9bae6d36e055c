// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestThreads
import Testing

/// Installed plugins serve URLs. For each problem with a plugin, the program prints one line with the file, the problem
/// and the fix.
@Suite(.blocking) struct InstalledPluginTests {
    private let program: Program
    private let search: [String: String]
    private static let url = "template://greet/sea"

    init() throws {
        program = try Program()
        search = ["PORTOLAN_PLUGIN_PATH": "\(program.path)/plugins"]
    }

    private func get(_ arguments: String..., with variables: [String: String]? = nil) throws -> Program.Outcome {
        try program.run(["get"] + arguments, with: variables ?? search)
    }

    private func expectError(
        _ line: String, status: Int32 = 107, _ arguments: [String] = [], with variables: [String: String] = [:],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let outcome = try program.run(["get"] + arguments + [Self.url], with: search.merging(variables) { $1 })
        #expect(outcome.errors == ["portolan: \(line)"], sourceLocation: sourceLocation)
        #expect(outcome.status == status && outcome.output.isEmpty, sourceLocation: sourceLocation)
        #expect(
            try program.run(["get"] + arguments + ["data:,ok"], with: search.merging(variables) { $1 }).text == "ok",
            sourceLocation: sourceLocation)
    }

    private var manifest: String { "\(program.path)/plugins/Template/Template.plugin.json" }
    private let noHandlerError =
        "no handler takes 'template:' URLs; known schemes: data, file, http, https; an installed plugin cannot be used: "

    @Test func installedPluginServesItsScheme() throws {
        try program.installTemplate()
        #expect(try get(Self.url).text == "Hello, sea!\n")
        #expect(try program.run("version", with: search).lines.last == "schemes: data file http https template")
        #expect(try program.run("explain", Self.url, with: search).lines.last == "served by org.portolan.template")
        #expect(try program.run("stdio", input: "{\"url\":\"\(Self.url)\"}\n", with: search).text.contains("Hello, sea!"))
        #expect(try get("--no-plugins", Self.url).status == 1)
    }

    @Test(arguments: [("XDG_DATA_HOME", "data", "data/portolan/plugins"), ("HOME", "home", "home/.local/share/portolan/plugins")])
    func folderOfTheUserIsSearched(variable: String, value: String, folder: String) throws {
        try program.installTemplate(in: folder)
        #expect(try get(Self.url, with: [variable: "\(program.path)/\(value)"]).text == "Hello, sea!\n")
        #expect(try get(Self.url, with: [variable: value]).status == 1)
    }

    @Test(arguments: [
        ("PORTOLAN_PLUGIN_DENY", "org.portolan.template,"), ("PORTOLAN_PLUGIN_ALLOW", "org.example.*,"), ("XDG_CONFIG_HOME", "/"),
        ("HOME", "/"),
    ])
    func policyThatIsNotUTF8ForbidsEveryPlugin(variable: String, start: String) throws {
        try program.installTemplate()
        let variables = "PORTOLAN_PLUGIN_PATH=$PWD/plugins \(variable)=$(printf '\(start)\\377')"
        let outcome = try program.runScript("\(variables) \"$portolan\" get \(Self.url)")
        #expect(
            outcome.errors == [
                "portolan: \(manifest): no plugin is used, because the policy can't be used: \(variable): its value is not UTF-8 and can't be read; set it again"
            ])
        #expect(outcome.status == 107)
    }

    @Test func pluginPathIsSearchedInOrder() throws {
        try program.installTemplate(in: "one") { $0.replacing("\"Hello\"", with: "\"Ahoy\"") }
        try program.installTemplate(in: "two")
        let paths = ["\(program.path)/one", "\(program.path)/two"]
        for (path, word) in [(paths, "Ahoy"), (paths.reversed(), "Hello"), ([paths[0]], "Ahoy"), (["", paths[1], ""], "Hello")] {
            #expect(try get(Self.url, with: ["PORTOLAN_PLUGIN_PATH": path.joined(separator: ":")]).text == "\(word), sea!\n")
        }
    }

    @Test(arguments: ["plugins/Template", "plugins/Template/Template.plugin.json", "plugins/Template/template.so"])
    func namedPluginServesAndWarnsIfOthersCanChangeIt(path: String) throws {
        try program.installTemplate()
        #expect(try get("--plugin", path, Self.url, with: [:]).text == "Hello, sea!\n")
        try program.setPermissions(0o777, of: "plugins")
        let outcome = try get("--plugin", path, Self.url, with: [:])
        #expect(outcome.text == "Hello, sea!\n" && outcome.status == 0)
        #expect(
            outcome.errors == [
                "portolan: warning: \(program.path)/plugins: MANIF-09: it is writable by everybody; remove that permission (chmod o-w)"
            ])
    }

    @Test func userCanSetTheSettingsOfAPlugin() throws {
        try program.installTemplate()
        let setting = ["--setting", "org.portolan.template:greeting=Ahoy"]
        #expect(try program.run(["get"] + setting + [Self.url], with: search).text == "Ahoy, sea!\n")
        #expect(try program.run(["get", "--plugin", "plugins/Template"] + setting + [Self.url]).text == "Ahoy, sea!\n")
        for (setting, line) in [
            (
                "org.portolan.template:greetings=x",
                "\(manifest): the setting 'greetings' of org.portolan.template is not declared in the manifest; it declares greeting"
            ),
            ("org.nobody:x=y", "org.nobody: no plugin with this identifier is installed; 'portolan plugins list' shows the installed ones"),
        ] {
            let outcome = try get("--setting", setting, Self.url)
            #expect(outcome.errors == ["portolan: \(line)"] && outcome.status == 107)
        }
        #expect(try get("--setting", "nonsense", Self.url).status == 2)
    }

    // MARK: Errors

    @Test func malformedManifestIsReported() throws {
        try program.installTemplate { $0.replacing("\"version\": \"1.0.0\"", with: "\"version\": \"1.0\"") }
        try expectError("\(noHandlerError)\(manifest):5:14: MANIF-01: 'version' is not a semantic version, as in 1.0.0", status: 1)
    }

    @Test func manifestThatDisagreesWithItsLibraryIsReported() throws {
        try program.installTemplate { $0.replacing("org.portolan.template", with: "org.example.tide") }
        try expectError(
            "\(manifest): MANIF-02: its identifier is org.example.tide, but its library template.so has org.portolan.template; make them the same"
        )
        try program.installTemplate { $0.replacing("[\"template\"]", with: "[\"template\", \"tide\"]") }
        try expectError(
            "\(manifest): MANIF-02: its schemes are template, tide, but its library template.so has template; make them the same")
    }

    @Test func worldWritableFolderIsReported() throws {
        try program.installTemplate()
        try program.setPermissions(0o777, of: "plugins")
        try expectError(
            "\(noHandlerError)\(program.path)/plugins: MANIF-09: it is writable by everybody; remove that permission (chmod o-w)", status: 1
        )
    }

    @Test func secondPluginWithAnIdentifierIsReported() throws {
        try program.installTemplate(in: "plugins", as: "A") { $0.replacing("\"Hello\"", with: "\"Ahoy\"") }
        try program.installTemplate(in: "plugins", as: "B")
        #expect(try get(Self.url).text == "Ahoy, sea!\n")
        #expect(
            try program.run("plugins", "list", with: search).lines.contains(
                "problem: \(program.path)/plugins/B/B.plugin.json: MANIF-10: org.portolan.template is also in '\(program.path)/plugins/A/A.plugin.json', which is found first; remove one of them"
            ))
    }

    @Test func differingPinIsReported() throws {
        let zeros = String(repeating: "0", count: 64)
        try program.installTemplate { $0.replacing("\"schemes\"", with: "\"sha256\": \"\(zeros)\", \"schemes\"") }
        let digest = try String(#require(program.runScript("sha256sum plugins/Template/template.so").text.split(separator: " ").first))
        try expectError(
            "\(program.path)/plugins/Template/template.so: MANIF-04: the library's SHA-256 is \(digest), but \(zeros) is pinned; install the pinned library, or pin this one if you trust it"
        )
        try program.installTemplate { $0.replacing("\"schemes\"", with: "\"sha256\": \"\(digest)\", \"schemes\"") }
        #expect(try get(Self.url).text == "Hello, sea!\n")
    }

    @Test func deniedPluginIsReported() throws {
        try program.installTemplate()
        let denialText =
            "the plugin org.portolan.template is denied by 'org.portolan.*'; remove this pattern from the deny list of PORTOLAN_PLUGIN_DENY to use it"
        let lists = ["PORTOLAN_PLUGIN_DENY": "org.other, org.portolan.* "]
        try expectError("\(manifest): \(denialText)", with: lists)
        for path in ["plugins/Template", "plugins/Template/template.so"] {
            let outcome = try program.run("get", "--plugin", path, Self.url, with: lists)
            #expect(outcome.status == 107 && outcome.errors.count == 1 && outcome.errors[0].hasSuffix(denialText), "\(outcome.errors)")
        }
        try expectError(
            "\(manifest): the plugin org.portolan.template is not on the allow list of PORTOLAN_PLUGIN_ALLOW; add it there to use it",
            with: ["PORTOLAN_PLUGIN_ALLOW": "org.other"])
        #expect(try get(Self.url, with: search.merging(["PORTOLAN_PLUGIN_ALLOW": "org.portolan.template"]) { $1 }).text == "Hello, sea!\n")
    }

    @Test func unreadablePolicyIsReported() throws {
        try program.installTemplate()
        try program.makeFile(".config/portolan/plugins.json", "{deny: 'org.x'}")
        try expectError(
            "\(manifest): no plugin is used, because the policy can't be used: \(program.folder.path)/.config/portolan/plugins.json:1:8: 'deny' is a string, where an array is needed"
        )
        try program.makeFile(".config/portolan/plugins.json", "{settings: {'org.portolan.template': {greeting: 'Ahoy'}}}")
        #expect(try get(Self.url).text == "Ahoy, sea!\n")
    }

    @Test func missingLibraryIsReported() throws {
        try program.installTemplate()
        try program.remove("plugins/Template/template.so")
        try expectError(
            "\(program.path)/plugins/Template/template.so: DESC-01: the library of org.portolan.template is missing, but its manifest exists; build or install it again"
        )
    }

    /// A set-user-ID copy of the program has more rights than its user, so it must ignore the user's environment.
    @Test(.enabled(if: geteuid() == 0, "only root can make a set-user-ID program"))
    func setUserIDProgramIgnoresTheEnvironment() throws {
        try FileManager.default.copyItem(at: Program.executable, to: program.folder.appendingPathComponent("privileged"))
        try program.setPermissions(0o755, of: "privileged")
        let command = "setpriv --reuid=12345 --regid=12345 --clear-groups ./privileged plugins list"
        let pluginPath = "PORTOLAN_PLUGIN_PATH=/nonexistent"
        #expect(try program.runScript("\(pluginPath) \(command)").text.contains("/nonexistent"))
        #expect(try program.runScript("chmod u+s privileged && \(pluginPath) \(command)").text == "0 plugins\n")
    }
}
