// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Testing

@testable import PortolanPlugins

/// The user's policies for plugins, and their effects.
@Suite struct PolicyTests {
    private let folder: TestFolder

    init() throws {
        folder = try TestFolder()
        try folder.plugin("all/template", ManifestText.template(["settings": Self.settings]), fixture: "template")
        try folder.plugin("all/variant", ManifestText.of("org.portolan.variant", scheme: "variant"), fixture: "descriptor")
    }

    private static let settings =
        #"{"greeting": {"type": "string", "default": "Hi"}, "times": {"type": "integer", "minimum": 1, "maximum": 9}, "must": {"type": "boolean"}}"#

    private func policy(_ texts: String...) throws -> PluginPolicy {
        var policy = PluginPolicy()
        for (index, text) in texts.enumerated() { policy.add(contentsOf: try folder.file("policy-\(index).json", text)) }
        return policy
    }

    private func catalogue(_ policy: PluginPolicy) -> PluginCatalogue {
        PluginCatalogue(searching: PluginSearchPath([folder("all")]), policy: policy)
    }

    @Test(
        arguments: [
            ("{}", ["template", "variant"]), ("{allow: []}", []), ("{allow: ['org.portolan.template']}", ["template"]),
            ("{allow: ['org.portolan.*']}", ["template", "variant"]),
            ("{allow: ['org.portolan']}", []), ("{allow: ['*'], deny: ['org.portolan.t*']}", ["variant"]), ("{deny: ['*']}", []),
            ("{deny: ['org.portolan.templat', 'org.portolan.template.*']}", ["template", "variant"]),
        ] as [(String, [String])])
    func allowAndDenyListsSelectPlugins(text: String, allowedNames: [String]) throws {
        #expect(
            catalogue(try policy(text)).plugins.filter { $0.problem == nil }.map(\.identifier) == allowedNames.map { "org.portolan.\($0)" })
    }

    @Test func pluginNeedsEveryAllowListAndNoDenyList() throws {
        let policyOfThreeFiles = try policy(
            "{allow: ['org.portolan.*']}", "{allow: ['org.portolan.template', 'org.portolan.variant']}", "{deny: ['org.portolan.variant']}")
        #expect(
            catalogue(policyOfThreeFiles).problems.map(\.detail)
                == [
                    "the plugin org.portolan.variant is denied by 'org.portolan.variant'; remove this pattern from the deny list of \(folder("policy-2.json")) to use it"
                ])
        #expect(
            catalogue(try policy("{allow: ['*']}", "{allow: ['org.portolan.variant']}")).problems.map(\.detail)
                == ["the plugin org.portolan.template is not on the allow list of \(folder("policy-1.json")); add it there to use it"])
    }

    @Test func problemsOfInMemoryListsNameNoFile() {
        var policy = PluginPolicy()
        policy.denied = ["org.portolan.variant"]
        policy.allowLists = [["org.portolan.variant"]]
        #expect(
            catalogue(policy).problems.map(\.detail).sorted() == [
                "the plugin org.portolan.template is not on the allow list; add it there to use it",
                "the plugin org.portolan.variant is denied by 'org.portolan.variant'; remove this pattern from the deny list to use it",
            ])
    }

    @Test func deniedPluginIsNotOpened() async throws {
        let registry = ProtocolRegistry()
        catalogue(try policy("{deny: ['org.portolan.template']}")).register(in: registry)
        let loader = Loader(configuration: .init(), registry: registry)
        let error = await #expect(throws: LoadError.self) { try await loader.data(from: "template://greet/x") }
        #expect(error?.code == .pluginNotLoadable)
        #expect(error?.message.contains("is denied by 'org.portolan.template'") == true)
    }

    @Test(arguments: [
        ("{deny: ['']}", ":1:9: 'deny[0]' has to be one line of 1 to 1024 bytes"),
        ("{allow: [1]}", ":1:10: 'allow[0]' is a number, where a string is needed"), ("{", ":1:2: the text ends too early"),
        ("{\n denny: []}", ":2:2: 'denny' is not a known name here; did you mean 'deny'?"),
        ("[]", ":1:1: is an array, where an object is needed"),
        ("{pins: {a: 'b'}}", ":1:12: 'pins.a' is 'b', where 64 hexadecimal digits are needed"),
        ("{settings: {a: {b: []}}}", ":1:20: 'settings.a.b' is an array, where a string, a number, true or false is needed"),
        ("{settings: {a: {b: NaN}}}", ":1:20: 'settings.a.b' is NaN, which is not a finite double"),
    ])
    func unreadablePolicyForbidsEveryPlugin(text: String, errorText: String) throws {
        let catalogue = catalogue(try policy("{allow: ['*']}", text))
        let problem = "no plugin is used, because the policy can't be used: \(folder("policy-1.json"))\(errorText)"
        #expect(catalogue.problems.map(\.detail) == [problem, problem])
    }

    @Test func missingPolicyFileIsIgnored() {
        var policy = PluginPolicy()
        policy.add(contentsOf: folder("none/plugins.json"))
        #expect(policy.problem == nil && catalogue(policy).problems.isEmpty)
    }

    @Test func folderAsPolicyIsAProblem() {
        var policy = PluginPolicy()
        policy.add(contentsOf: folder("all"))
        #expect(policy.problem?.description == "\(folder("all")): the policy can't be read: Is a directory")
    }

    @Test(arguments: ["config/policy.json", "config"])
    func policyWritableByOthersForbidsEveryPlugin(writablePath: String) throws {
        try folder.file("config/policy.json", "{}")
        try folder.chmod(writablePath, 0o777)
        var policy = PluginPolicy()
        policy.add(contentsOf: folder("config/policy.json"))
        #expect(
            policy.problem?.description
                == "\(folder(writablePath)): MANIF-09: it is writable by everybody; remove that permission (chmod o-w)")
        #expect(catalogue(policy).problems.count == 2)
    }

    // MARK: Settings

    private func settings(_ policy: PluginPolicy, _ settings: [(name: String, value: PropertyValue)] = []) throws -> String {
        try #require(catalogue(policy)["org.portolan.template"]).configuration(settings).json
    }

    @Test func laterAndMoreSpecificSettingsTakePrecedence() throws {
        #expect(try settings(PluginPolicy()) == #"{"greeting":"Hi"}"#)
        let firstFile = "{settings: {'org.portolan.template': {greeting: 'Ahoy', times: 2}, 'org.portolan.variant': {greeting: 7}}}"
        let secondFile = "{settings: {'org.portolan.template': {times: 3, must: true}}}"
        #expect(try settings(policy(firstFile)) == #"{"greeting":"Ahoy","times":2}"#)
        #expect(try settings(policy(firstFile, secondFile)) == #"{"greeting":"Ahoy","must":true,"times":3}"#)
        #expect(try settings(policy(firstFile, secondFile), [("times", .integer(4))]) == #"{"greeting":"Ahoy","must":true,"times":4}"#)
        var catalogue = catalogue(try policy(firstFile, secondFile))
        try catalogue.set("times", of: "org.portolan.template", to: "5")
        #expect(try catalogue["org.portolan.template"]?.configuration([]).json == #"{"greeting":"Ahoy","must":true,"times":5}"#)
    }

    @Test func settingsReachThePlugin() async throws {
        let registry = ProtocolRegistry()
        try folder.plugin("all/template", ManifestText.template())
        catalogue(try policy("{settings: {'org.portolan.template': {greeting: 'Ahoy'}}}")).register(in: registry)
        let (bytes, _) = try await Loader(configuration: .init(), registry: registry).data(from: "template://greet/sea")
        #expect(String(decoding: bytes, as: UTF8.self) == "Ahoy, sea!\n")
    }

    @Test(arguments: [
        ("{times: 10}", "the setting 'times' of org.portolan.template is 10, above the maximum 9"),
        ("{times: '1'}", "the setting 'times' of org.portolan.template is a string, where an integer is needed"),
        ("{Times: 1}", "the setting 'Times' of org.portolan.template is not declared in the manifest; it declares greeting, must, times"),
    ])
    func invalidSettingIsReportedWhenItIsUsed(values: String, errorText: String) throws {
        let policy = try policy("{settings: {'org.portolan.template': \(values)}}")
        #expect(catalogue(policy).problems.isEmpty)
        #expect(#expect(throws: PluginProblem.self) { try settings(policy) }?.detail == errorText)
    }

    @Test func requiredSettingNeedsAValue() throws {
        let settings = #"{"key": {"type": "string", "required": true}, "other": {"type": "integer", "required": true, "default": 1}}"#
        try folder.plugin("all/template", ManifestText.template(["settings": settings]))
        let plugin = try #require(catalogue(PluginPolicy())["org.portolan.template"])
        let problem = #expect(throws: PluginProblem.self) { try plugin.configuration() }
        #expect(problem?.detail == "the setting 'key' of org.portolan.template is required; give it a value")
        #expect(try plugin.configuration([("key", .text("k"))]).json == #"{"key":"k","other":1}"#)
    }

    @Test func settingOfUnknownPluginOrNameIsReported() throws {
        var catalogue = catalogue(PluginPolicy())
        #expect(
            #expect(throws: PluginProblem.self) { try catalogue.set("a", of: "org.nobody", to: "1") }?.description
                == "org.nobody: no plugin with this identifier is installed; 'portolan plugins list' shows the installed ones")
        #expect(
            #expect(throws: PluginProblem.self) { try catalogue.set("greeting", of: "org.portolan.variant", to: "1") }?.detail
                == "the setting 'greeting' of org.portolan.variant is not declared in the manifest; it declares none")
    }
}
