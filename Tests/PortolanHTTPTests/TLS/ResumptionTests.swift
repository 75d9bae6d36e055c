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

    private static func isResumed(_ outcome: SecureLoads.Outcome) -> [Bool] { outcome.task.metrics.transfers.map(\.isTLSResumed) }

    @Test(arguments: versions) func nextConnectionResumesTheSessionAndKeepsTheChain(_ version: SecureServer.Settings.Version) async throws {
        let server = try await Self.server("below", version)
        let loads = try SecureLoads()
        let chains = Mutex<[[[UInt8]]]>([])
        for number in 0..<3 {
            let outcome = try await loads.load(server.url) { challenge in
                chains.withLock { $0.append(challenge.chain ?? []) }
                challenge.answer(.performDefault)
            }
            #expect(outcome.text == "hello")
            #expect(Self.isResumed(outcome) == [number > 0])
        }
        let certificates = try certificates()
        let shown = [try certificates.der("below"), try certificates.der("below", 1)]
        #expect(chains.withLock { $0 } == [shown, shown, shown])
        #expect(server.count(.connected) == 3)
        try await server.stop()
    }

    @Test func withoutTicketsEachHandshakeIsFull() async throws {
        let server = try await Self.server(sendsTickets: false)
        let loads = try SecureLoads()
        for _ in 0..<2 { #expect(Self.isResumed(try await loads.load(server.url)) == [false]) }
        try await server.stop()
    }

    /// The result of the first handshake is stored with the session. If one load accepts the server, other loads don't.
    @Test(arguments: versions) func resumedSessionKeepsTheTrustResult(_ version: SecureServer.Settings.Version) async throws {
        let server = try await Self.server("self", version)
        let loads = try SecureLoads()
        #expect(try await loads.load(server.url, answering: .use(.serverTrust)).text == "hello")
        let second = try await loads.load(server.url)
        #expect(second.code == .certificateNotTrusted && second.text.contains("self-signed"))
        #expect(second.challenges == 1)
        #expect(server.count(.requestBegan) == 1)
        let third = try await loads.load(server.url, answering: .use(.serverTrust))
        #expect(third.text == "hello" && Self.isResumed(third) == [true])
        try await server.stop()
    }

    @Test func aLoadMayRejectAResumedSession() async throws {
        let server = try await Self.server()
        let loads = try SecureLoads()
        #expect(try await loads.load(server.url).text == "hello")
        let rejected = try await loads.load(server.url, answering: .rejectProtectionSpace)
        #expect(rejected.code == .secureConnectionFailed)
        #expect(server.count(.requestBegan) == 1)
        try await server.stop()
    }

    @Test func handlersShareNoSessions() async throws {
        let server = try await Self.server()
        for _ in 0..<2 { #expect(Self.isResumed(try await SecureLoads().load(server.url)) == [false]) }
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
        let loads = try SecureLoads()
        for number in 0..<4 {
            let outcome = try await loads.load(server.url)
            #expect(outcome.code == .truncated, "\(outcome.text)")
            #expect(Self.isResumed(outcome) == [number > 0])
        }
        try await server.stop()
    }

    /// RFC 5246 §7.2.2: after a fatal alert, here the client's bad_record_mac, the session is not resumed.
    @Test func fatalAlertRemovesTheSession() async throws {
        let forged: [UInt8] = [23, 3, 3, 0, 40] + [UInt8](repeating: 7, count: 40)
        let server = try await SecureServer("good", .script([.tls(.sendInClear(forged)), .receiveToEnd])) { $0.maximumVersion = .tls12 }
        let loads = try SecureLoads()
        for _ in 0..<2 {
            let outcome = try await loads.load(server.url)
            #expect(outcome.code == .secureConnectionFailed, "\(outcome.text)")
            #expect(server.count(.resumed) == 0)
        }
        try await server.stop()
    }
}
