// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import PortolanCore

@Suite struct AuthenticatedSpacesTests {
    /// An object that the test recognises by its identity.
    private final class State: Sendable {}

    private static func entry(
        _ server: String = "https://h/", paths: [String], realm: String = "r", scheme: String = "basic", password: String = "p",
        state: State = State()
    ) throws -> AuthenticatedSpaces.Entry {
        let space = ProtectionSpace(kind: .password(scheme: scheme), protocolName: "https", host: "h", realm: realm)
        return AuthenticatedSpaces.Entry(
            space, credential: .password(user: "u", password: password, persistence: .loader), server: try URLRecord(parsing: server),
            paths: paths, state: state)
    }

    @Test(
        "A space covers the URLs of its server whose path is below one of its paths, RFC 7617 §2.2",
        arguments: [
            ("https://h/docs/", true), ("https://h/docs/a/b?c#d", true), ("https://h:443/docs/x", true), ("https://u:p@h/docs/x", true),
            ("https://h/docs", false), ("https://h/", false), ("https://h/docsx/", false), ("https://h/docs/../x", false),
            ("https://h/docs/%2e%2e/x", false), ("https://h/DOCS/", false), ("http://h/docs/", false), ("https://h:444/docs/", false),
            ("https://h./docs/", false), ("https://i/docs/", false), ("https://a.h/docs/", false), ("https://h/exact", true),
            ("https://h/exact/below", true), ("https://h/exactly", false),
        ])
    func spaceCoversTheURLsBelowItsPaths(url: String, isCovered: Bool) throws {
        let spaces = AuthenticatedSpaces()
        spaces.add(try Self.entry(paths: ["/docs/", "/exact"]))
        #expect((spaces.match(for: try URLRecord(parsing: url)) != nil) == isCovered)
    }

    @Test("The space with the longest path matches; an entry of the same space replaces it, and keeps the paths of the same credential")
    func spaceWithTheLongestPathMatches() throws {
        let spaces = AuthenticatedSpaces()
        let (root, docs, newState) = (State(), State(), State())
        spaces.add(try Self.entry(paths: ["/"], realm: "root", state: root))
        spaces.add(try Self.entry(paths: ["/docs/"], state: docs))
        func state(_ url: String) throws -> AnyObject? { spaces.match(for: try URLRecord(parsing: url))?.entry.state }
        #expect(try state("https://h/docs/x") === docs && state("https://h/x") === root)
        spaces.add(try Self.entry(paths: ["/new/"], state: newState))
        #expect(try state("https://h/docs/x") === newState && state("https://h/new/") === newState)
        spaces.add(try Self.entry(paths: ["/third/"], password: "changed", state: docs))
        #expect(try state("https://h/docs/x") === root && state("https://h/third/") === docs)
        spaces.replace(docs, by: newState)
        #expect(try state("https://h/third/") === newState)
        spaces.replace(docs, by: root)
        spaces.remove(newState)
        #expect(try state("https://h/third/") === root)
        spaces.removeAll()
        #expect(try state("https://h/") == nil)
    }

    /// Otherwise the password would be sent by Basic to a place that asks for Digest.
    @Test(arguments: [["basic", "digest"], ["digest", "basic"]]) func digestIsPreferredForEquallyLongPaths(schemes: [String]) throws {
        let spaces = AuthenticatedSpaces()
        for scheme in schemes { spaces.add(try Self.entry(paths: ["/"], scheme: scheme)) }
        #expect(spaces.match(for: try URLRecord(parsing: "https://h/x"))?.entry.space.kind == .password(scheme: "digest"))
    }

    @Test func numberOfSpacesIsLimited() throws {
        let spaces = AuthenticatedSpaces()
        for number in 0..<150 { spaces.add(try Self.entry("https://h\(number)/", paths: ["/"])) }
        #expect(spaces.match(for: try URLRecord(parsing: "https://h0/")) == nil)
        #expect(spaces.match(for: try URLRecord(parsing: "https://h149/")) != nil)
    }
}
