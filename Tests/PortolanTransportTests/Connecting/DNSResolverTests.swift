// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization
import Testing

@testable import PortolanTransport

@Suite("Looking up names", .timeLimit(.minutes(10))) struct DNSResolverTests {
    /// More of these names than there are processors.
    @Test func blockedLookupsDoNotDelayOthers() async throws {
        let held = HeldNames()
        defer { held.release() }
        let names = held.service()
        for index in 0..<40 { _ = names.find("slow\(index).test") { _ in } }
        try #require(await held.haveBegun(40))
        #expect(try await names.addresses(of: "quick.test").map(\.ip.text) == ["127.0.0.1"])
    }

    @Test func lookupsBeyondTheLimitWait() async throws {
        let held = HeldNames()
        defer { held.release() }
        let names = held.service(limit: 2)
        for name in ["slow1", "slow2", "a"] { _ = names.find(name) { _ in } }
        try #require(await held.haveBegun(2))
        async let last = names.addresses(of: "b")
        held.release()
        _ = try await last
        #expect(Set(held.lookedUp.prefix(2)) == ["slow1", "slow2"])
        #expect(Set(held.lookedUp) == ["slow1", "slow2", "a", "b"])
    }

    @Test func withdrawnNameIsNotLookedUp() async throws {
        let held = HeldNames()
        let names = held.service(limit: 1)
        _ = names.find("slow") { _ in }
        let request = names.find("given-up") { _ in _ = Issue.record("a withdrawn request got an answer") }
        #expect(names.withdraw(request))
        #expect(!names.withdraw(request))
        async let last = names.addresses(of: "last")
        held.release()
        _ = try await last
        #expect(held.lookedUp == ["slow", "last"])
        // The next request for the name starts a new look-up.
        _ = try await names.addresses(of: "given-up")
    }

    @Test func concurrentRequestsShareOneLookup() async throws {
        let held = HeldNames()
        let names = held.service()
        let answerCount = Mutex(0)
        let first = names.find("slow.test") { _ in _ = Issue.record("a withdrawn request got an answer") }
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        for _ in 0..<10 {
            _ = names.find("slow.test") { _ in
                if answerCount.withLock({
                    $0 += 1
                    return $0 == 10
                }) {
                    end.finish()
                }
            }
        }
        #expect(names.withdraw(first))
        try #require(await held.haveBegun(1))
        held.release()
        for await _ in ends {}
        #expect(held.lookedUp == ["slow.test"])
        // The resolver does not cache addresses.
        _ = try await names.addresses(of: "slow.test")
        #expect(held.lookedUp.count == 2)
        #expect(answerCount.withLock { $0 } == 10)
    }

    @Test func requestAfterAWithdrawalStartsANewLookup() async throws {
        let held = HeldNames()
        defer { held.release() }
        let names = held.service()
        let request = names.find("slow.test") { _ in _ = Issue.record("a withdrawn request got an answer") }
        try #require(await held.haveBegun(1))
        #expect(names.withdraw(request))
        async let addresses = names.addresses(of: "slow.test")
        try #require(await held.haveBegun(2))
        held.release()
        #expect(try await addresses.count == 1)
    }

    @Test func lookupFailureIsReported() async throws {
        let names = HeldNames().service()
        let error = try await #require(throws: NameError.self) { try await names.addresses(of: "missing.test") }
        #expect(error.description == "Name or service not known")
    }

    /// RFC 6761 §6.3
    @Test(arguments: [
        ("a.localhost", "localhost"), ("a.b.localhost.", "localhost"), ("localhost", "localhost"), ("localhost.", "localhost"),
        ("LOCALHOST.", "localhost"), ("LocalHost", "localhost"), ("a.LOCALHOST.", "localhost"), ("localhost..", "localhost.."),
        ("alocalhost", "alocalhost"), ("localhost.test", "localhost.test"), (".localhost", "localhost"), ("", ""), (".", "."),
    ])
    func namesBelowLocalhostMapToLocalhost(host: String, name: String) {
        #expect(DNSResolver.name(of: host) == name)
    }

    @Test(arguments: ["localhost", "localhost.", "a.localhost", "a.localhost."]) func systemResolvesLocalhost(name: String) async throws {
        let addresses = try await DNSResolver.shared.addresses(of: name)
        #expect(!addresses.isEmpty)
        for address in addresses { #expect(["127.0.0.1", "::1"].contains(address.ip.text)) }
    }
}
