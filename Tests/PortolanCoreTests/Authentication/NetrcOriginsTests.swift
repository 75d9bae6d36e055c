// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCore

/// Which requests of one load get a password of a netrc file.
@Suite struct NetrcOriginsTests {
    @Test(arguments: [
        (["http://h/"], "http://h/b", true), (["http://h:1/"], "http://h:1/", true), (["http://h/"], "http://h:1/", false),
        (["http://h/", "http://i/"], "http://h/", true), (["http://h/", "http://i/"], "http://h:1/", false),
        (["http://h/"], "http://i:1/", true), (["https://h/"], "https://i/", true), (["https://h/"], "http://i/", false),
        (["http://h/"], "https://h/", true), (["http://h:1/"], "https://h:1/", true), (["http://h:1/"], "https://h/", false),
        (["http://h/", "https://h/"], "http://h/", false), (["https://h/", "http://i/"], "http://j/", false),
    ])
    func passwordsStayAtTheirOrigin(visited: [String], next: String, isSent: Bool) throws {
        var origins = NetrcOrigins()
        for url in visited { origins.visit(try URLRecord(parsing: url)) }
        #expect((origins.problem(with: try URLRecord(parsing: next)) == nil) == isSent)
    }

    @Test func loadThatVisitsManyHostsGetsNoMorePasswords() throws {
        var origins = NetrcOrigins()
        for number in 0..<1000 { origins.visit(try URLRecord(parsing: "http://h\(number)/")) }
        #expect(origins.problem(with: try URLRecord(parsing: "http://h0/")) == nil)
        #expect(origins.problem(with: try URLRecord(parsing: "http://h999/")) != nil)
    }
}
