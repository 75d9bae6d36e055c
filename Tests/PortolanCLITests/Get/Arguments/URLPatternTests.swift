// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCLI

@Suite struct URLPatternTests {
    @Test(arguments: [
        ("http://h/{a,b}", ["http://h/a", "http://h/b"]), ("http://h/[1-3]", ["http://h/1", "http://h/2", "http://h/3"]),
        ("http://h/[08-10]", ["http://h/08", "http://h/09", "http://h/10"]), ("http://h/[a-c:2]", ["http://h/a", "http://h/c"]),
        ("http://h/{a,b}[1-2]", ["http://h/a1", "http://h/a2", "http://h/b1", "http://h/b2"]), ("h{1,2}/", ["h1/", "h2/"]),
        ("http://[::1]/", ["http://[::1]/"]), ("http://h/?a[]=1", ["http://h/?a[]=1"]), ("http://h/{a}", ["http://h/{a}"]),
        ("http://h/[3-1]", ["http://h/[3-1]"]), ("http://h/\\{a,b\\}", ["http://h/{a,b}"]), ("data:,{a,b}", ["data:,{a,b}"]),
        ("http://h/{a,b", ["http://h/{a,b"]), ("http://h/{,x}", ["http://h/", "http://h/x"]), ("http://h/[1-2:0]", ["http://h/[1-2:0]"]),
    ])
    func patternStandsForURLs(pattern: String, urls: [String]) throws {
        #expect(try URLPattern(parsing: pattern).expansions.map(\.url) == urls)
    }

    @Test(arguments: ["http://h/[1-9223372036854775807]", "http://h/[1-1000][1-1000]"])
    func patternWithTooManyURLsIsRefused(pattern: String) {
        let failure = #expect(throws: Failure.self) { try URLPattern(parsing: pattern) }
        #expect(failure?.status == .badURL)
    }

    @Test func nameOfAFileHasThePartsOfTheURL() throws {
        let expansions = try URLPattern(parsing: "http://h/{a,b}[1-2]").expansions
        #expect(expansions.map { $0.filling("#1-#2#3#") } == ["a-1#3#", "a-2#3#", "b-1#3#", "b-2#3#"])
    }
}
