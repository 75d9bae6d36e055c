// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanPlugins
import Testing

@testable import PortolanCLI

@Suite struct PluginSettingArgumentTests {
    @Test(arguments: [
        ("org.x:name=value", ["org.x", "name", "value"]), ("org.x:name=", ["org.x", "name", ""]),
        ("org.x:a=b=c:d", ["org.x", "a", "b=c:d"]),
        ("org.x:a:b=c", ["org.x", "a:b", "c"]), ("org.x:n= é ", ["org.x", "n", " é "]),
    ])
    func settingArgumentIsSplitIntoIdentifierNameAndValue(text: String, parts: [String]) throws {
        let setting = try #require(PluginSettingArgument(argument: text))
        #expect([setting.identifier, setting.name, setting.value] == parts)
    }

    @Test(arguments: ["", ":", "=", "org.x", "org.x:name", "org.x=name:value", ":name=value", "org.x:=value", "org.x:"])
    func invalidSettingArgumentIsRefused(text: String) {
        #expect(PluginSettingArgument(argument: text) == nil)
    }
}

@Suite struct UnusablePluginMentionTests {
    /// The problems of a search path with `count` relative folders.
    private static func problems(_ count: Int) -> [PluginProblem] {
        let path = PluginSearchPath((0..<count).map { "relative-\($0)" })
        return PluginCatalogue(searching: path, policy: PluginPolicy()).unusablePlugins
    }

    private let noHandlerFailure = Failure(.unsupportedScheme, "no handler", code: "unsupportedScheme")
    private let phrase =
        "no handler; an installed plugin cannot be used: relative-0: a folder to search needs an absolute path; write one"

    @Test func unsupportedSchemeMentionsUnusablePlugins() {
        #expect(noHandlerFailure.mentioning([]) == noHandlerFailure)
        #expect(noHandlerFailure.mentioning(Self.problems(1)) == Failure(.unsupportedScheme, phrase, code: "unsupportedScheme"))
        #expect(
            noHandlerFailure.mentioning(Self.problems(3)).message == phrase + "; 'portolan plugins list' shows 2 more")
    }

    @Test func otherFailuresMentionNoPlugins() {
        let failure = Failure(.badURL, "bad", code: "badURL")
        #expect(failure.mentioning(Self.problems(2)) == failure)
    }
}
