// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCLI

@Suite struct PluginNameTests {
    @Test(arguments: [
        ("hello", "org.example.hello", "Hello"), ("x", "org.example.x", "X"), ("h2", "org.example.h2", "H2"),
        ("view-source", "org.example.view-source", "ViewSource"), ("a+b.c", "org.example.a-b-c", "ABC"), ("a-", "org.example.a-", "A"),
        ("a+-2", "org.example.a--2", "A2"),
    ])
    func identifierAndTitleFollowFromTheScheme(text: String, identifier: String, title: String) throws {
        let name = try PluginName(parsing: text)
        #expect([name.scheme, name.identifier, name.title] == [text, identifier, title])
    }

    @Test(arguments: [
        ("", PluginName.Problem.notAScheme), ("2h", .notAScheme), ("-a", .notAScheme), (".", .notAScheme), ("..", .notAScheme),
        ("a/b", .notAScheme), ("a b", .notAScheme), ("a_b", .notAScheme), ("hello:", .notAScheme), ("é", .notAScheme), ("a\n", .notAScheme),
        ("a\u{0}", .notAScheme), ("Hello", .upperCase), ("hellO", .upperCase), ("http", .builtIn), ("file", .builtIn), ("data", .builtIn),
        ("portolan", .package),
        (String(repeating: "a", count: 65), .tooLong),
    ])
    func invalidOrReservedNameIsRefused(text: String, problem: PluginName.Problem) {
        #expect(throws: problem) { try PluginName(parsing: text) }
    }

    @Test func longestNameIsAccepted() throws {
        #expect(try PluginName(parsing: String(repeating: "a", count: 64)).scheme.count == 64)
    }
}
