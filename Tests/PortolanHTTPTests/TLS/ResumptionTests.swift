// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTP
import PortolanTestSupport
import ServerSupport
import Synchronization
import Testing

/// TLS sessions that later connections resume (RFC 8446 §2.2, RFC 5077).
@Suite("Resumed TLS sessions", .timeLimit(.minutes(10))) struct ResumptionTests {
    private static let versions = [SecureServer.Settings.Version.tls12, .tls13]

    /// A server that ends each connection after its response.
    private static func server(
        _ name: String = "good", _ version: SecureServer.Settings.Version = .tls13, sendsTickets: Bool = true
    ) async throws -> SecureServer {
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello"
        return try await SecureServer(name, .respond(response)) {
            $0.maximumVersion = version
            $0.sendsTickets = sendsTickets
        }
    }

    /// Whether TLS resumed a session, for each transaction of the task.
    private static func wereResumed(_ outcome: SecureLoaderFixture.Outcome) -> [Bool] { outcome.task.metrics.transfers.map(\.isTLSResumed) }

    @Test(arguments: versions) func nextConnectionResumesTheSessionAndKeepsTheChain(_ version: SecureServer.Settings.Version) async throws {
        let server = try await Self.server("below", version)
        let fixture = try SecureLoaderFixture()
        let chains = Mutex<[[[UInt8]]]>([])
        for number in 0..<3 {
            let outcome = try await fixture.load(server.url) { challenge in
                chains.withLock { $0.append(challenge.serverChain ?? []) }
                challenge.answer(.performDefault)
            }
            #expect(outcome.text == "hello")
            #expect(Self.wereResumed(outcome) == [number > 0])
        }
        let certificates = try certificates()
        let expectedChain = [try certificates.der("below"), try certificates.der("below", 1)]
        #expect(chains.withLock { $0 } == [expectedChain, expectedChain, expectedChain])
        #expect(server.count(.connected) == 3)
        try await server.stop()
    }

    @Test func withoutTicketsEachHandshakeIsFull() async throws {
        let server = try await Self.server(sendsTickets: false)
        let fixture = try SecureLoaderFixture()
        for _ in 0..<2 { #expect(Self.wereResumed(try await fixture.load(server.url)) == [false]) }
        try await server.stop()
    }

    /// The session stores the result of the certificate's verification. That one load trusts the server does not change
    /// it for other loads.
    @Test(arguments: versions) func resumedSessionKeepsTheTrustResult(_ version: SecureServer.Settings.Version) async throws {
        let server = try await Self.server("self", version)
        let fixture = try SecureLoaderFixture()
        #expect(try await fixture.load(server.url, answering: .use(.serverTrust)).text == "hello")
        let second = try await fixture.load(server.url)
        #expect(second.code == .certificateNotTrusted && second.text.contains("self-signed"))
        #expect(second.challengeCount == 1)
        #expect(server.count(.requestBegan) == 1)
        let third = try await fixture.load(server.url, answering: .use(.serverTrust))
        #expect(third.text == "hello" && Self.wereResumed(third) == [true])
        try await server.stop()
    }

    @Test func aLoadMayRejectAResumedSession() async throws {
        let server = try await Self.server()
        let fixture = try SecureLoaderFixture()
        #expect(try await fixture.load(server.url).text == "hello")
        let rejected = try await fixture.load(server.url, answering: .rejectProtectionSpace)
        #expect(rejected.code == .secureConnectionFailed)
        #expect(server.count(.requestBegan) == 1)
        try await server.stop()
    }

    @Test func handlersShareNoSessions() async throws {
        let server = try await Self.server()
        for _ in 0..<2 { #expect(Self.wereResumed(try await SecureLoaderFixture().load(server.url)) == [false]) }
        try await server.stop()
    }

    /// RFC 5246 §7.2.1: a close without close_notify does not invalidate the session, unlike in RFC 2246.
    @Test(arguments: versions) func missingCloseNotifyKeepsTheSession(_ version: SecureServer.Settings.Version) async throws {
        let server = try await SecureServer(
            "good", .respondWithoutCloseNotify("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        ) {
            $0.maximumVersion = version
            $0.ticketCount = 1
        }
        let fixture = try SecureLoaderFixture()
        for number in 0..<4 {
            let outcome = try await fixture.load(server.url)
            #expect(outcome.code == .truncated, "\(outcome.text)")
            #expect(Self.wereResumed(outcome) == [number > 0])
        }
        try await server.stop()
    }

    /// A forged record makes the client send the fatal alert bad_record_mac. After a fatal alert, the session is not
    /// resumed (RFC 5246 §7.2.2).
    @Test func fatalAlertRemovesTheSession() async throws {
        let forgedRecord: [UInt8] = [23, 3, 3, 0, 40] + [UInt8](repeating: 7, count: 40)
        let server = try await SecureServer("good", .script([.tls(.sendInClear(forgedRecord)), .receiveToEnd])) {
            $0.maximumVersion = .tls12
        }
        let fixture = try SecureLoaderFixture()
        for _ in 0..<2 {
            let outcome = try await fixture.load(server.url)
            #expect(outcome.code == .secureConnectionFailed, "\(outcome.text)")
            #expect(server.count(.resumed) == 0)
        }
        try await server.stop()
    }
}
