// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization
import Testing

@testable import PortolanTransport

@Suite("Look-ups of host names", .timeLimit(.minutes(10))) struct DNSResolverTests {
    /// There are more blocked look-ups than processors.
    @Test func blockedLookupsDoNotDelayOthers() async throws {
        let lookUp = BlockingLookUp()
        defer { lookUp.release() }
        let resolver = lookUp.makeResolver()
        for index in 0..<40 { _ = resolver.resolve("slow\(index).test") { _ in } }
        try #require(await lookUp.waitForLookUps(40))
        #expect(try await resolver.addresses(of: "quick.test").map(\.ip.text) == ["127.0.0.1"])
    }

    @Test func lookupsBeyondTheLimitWait() async throws {
        let lookUp = BlockingLookUp()
        defer { lookUp.release() }
        let resolver = lookUp.makeResolver(limit: 2)
        for name in ["slow1", "slow2", "a"] { _ = resolver.resolve(name) { _ in } }
        try #require(await lookUp.waitForLookUps(2))
        async let lastAddresses = resolver.addresses(of: "b")
        lookUp.release()
        _ = try await lastAddresses
        #expect(Set(lookUp.startedNames.prefix(2)) == ["slow1", "slow2"])
        #expect(Set(lookUp.startedNames) == ["slow1", "slow2", "a", "b"])
    }

    @Test func cancelledNameIsNotLookedUp() async throws {
        let lookUp = BlockingLookUp()
        let resolver = lookUp.makeResolver(limit: 1)
        _ = resolver.resolve("slow") { _ in }
        let request = resolver.resolve("cancelled") { _ in _ = Issue.record("a cancelled request got a result") }
        #expect(resolver.cancel(request))
        #expect(!resolver.cancel(request))
        async let lastAddresses = resolver.addresses(of: "last")
        lookUp.release()
        _ = try await lastAddresses
        #expect(lookUp.startedNames == ["slow", "last"])
        // The next request for the name starts a new look-up.
        _ = try await resolver.addresses(of: "cancelled")
    }

    @Test func concurrentRequestsShareOneLookup() async throws {
        let lookUp = BlockingLookUp()
        let resolver = lookUp.makeResolver()
        let resultCount = Mutex(0)
        let first = resolver.resolve("slow.test") { _ in _ = Issue.record("a cancelled request got a result") }
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        for _ in 0..<10 {
            _ = resolver.resolve("slow.test") { _ in
                if resultCount.withLock({
                    $0 += 1
                    return $0 == 10
                }) {
                    end.finish()
                }
            }
        }
        #expect(resolver.cancel(first))
        try #require(await lookUp.waitForLookUps(1))
        lookUp.release()
        for await _ in ends {}
        #expect(lookUp.startedNames == ["slow.test"])
        // The resolver does not cache addresses.
        _ = try await resolver.addresses(of: "slow.test")
        #expect(lookUp.startedNames.count == 2)
        #expect(resultCount.withLock { $0 } == 10)
    }

    @Test func requestAfterACancellationStartsANewLookup() async throws {
        let lookUp = BlockingLookUp()
        defer { lookUp.release() }
        let resolver = lookUp.makeResolver()
        let request = resolver.resolve("slow.test") { _ in _ = Issue.record("a cancelled request got a result") }
        try #require(await lookUp.waitForLookUps(1))
        #expect(resolver.cancel(request))
        async let addresses = resolver.addresses(of: "slow.test")
        try #require(await lookUp.waitForLookUps(2))
        lookUp.release()
        #expect(try await addresses.count == 1)
    }

    @Test func lookupFailureIsReported() async throws {
        let resolver = BlockingLookUp().makeResolver()
        let error = try await #require(throws: NameError.self) { try await resolver.addresses(of: "missing.test") }
        #expect(error.description == "Name or service not known")
    }

    /// Names below `localhost` resolve to the loopback address (RFC 6761 §6.3).
    @Test(arguments: [
        ("a.localhost", "localhost"), ("a.b.localhost.", "localhost"), ("localhost", "localhost"), ("localhost.", "localhost"),
        ("LOCALHOST.", "localhost"), ("LocalHost", "localhost"), ("a.LOCALHOST.", "localhost"), ("localhost..", "localhost.."),
        ("alocalhost", "alocalhost"), ("localhost.test", "localhost.test"), (".localhost", "localhost"), ("", ""), (".", "."),
    ])
    func namesBelowLocalhostMapToLocalhost(host: String, name: String) {
        #expect(DNSResolver.name(of: host) == name)
    }

    @Test(arguments: ["localhost", "localhost.", "a.localhost", "a.localhost."]) func systemResolvesNamesBelowLocalhost(name: String)
        async throws
    {
        let addresses = try await DNSResolver.shared.addresses(of: name)
        #expect(!addresses.isEmpty)
        for address in addresses { #expect(["127.0.0.1", "::1"].contains(address.ip.text)) }
    }
}
