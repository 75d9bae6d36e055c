// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanFile

@Suite struct GlobTests {
    static let matches: [(pattern: String, name: String, isMatch: Bool)] = [
        ("a", "a", true), ("a", "b", false), ("a", "ab", false), ("a", "", false), ("?", "a", true), ("?", "", false), ("??", "a", false),
        ("a*", "a", true), ("a*", "abc", true), ("*a", "bca", true), ("*a", "ab", false), ("a*b*c", "a--b--c", true),
        ("a*b*c", "a--c--b", false),
        ("*ab*", "aab", true), ("*aab", "aaab", true), ("a**b", "ab", true), ("[abc]", "b", true), ("[abc]", "d", false),
        ("[a-c]x", "bx", true),
        ("[!a-c]", "d", true), ("[^a-c]", "b", false), ("[!a]", "", false), ("[]]", "]", true), ("[]a]", "a", true), ("[!]]", "a", true),
        ("[a-]", "-", true), ("[-a]", "-", true), ("*.[0-9]", "x.5", true), ("*.[0-9]", "x.55", false), ("[0-9][0-9].v", "12.v", true),
    ]

    @Test(arguments: matches) func patternsMatchAsInGlob7(_ row: (pattern: String, name: String, isMatch: Bool)) throws {
        let glob = try #require(Glob(Array(row.pattern.utf8)[...]))
        #expect(glob.matches(Array(row.name.utf8)[...]) == row.isMatch)
        // The same name as a slice whose indices do not begin at 0.
        #expect(glob.matches(Array(("/" + row.name).utf8)[1...]) == row.isMatch)
    }

    @Test(arguments: ["*", "**", "[", "[a", "[]", "[!", "[b-a]"]) func malformedOrUniversalPatternsAreRefused(_ pattern: String) {
        #expect(Glob(Array(pattern.utf8)[...]) == nil)
    }

    @Test func patternWithManyStarsIsMatchedInPolynomialTime() throws {
        let glob = try #require(Glob(Array((String(repeating: "a*", count: 100) + "b").utf8)[...]))
        #expect(!glob.matches([UInt8](repeating: UInt8(ascii: "a"), count: 255)[...]))
    }
}
