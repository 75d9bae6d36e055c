// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import ServerSupport
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

/// TLS handshakes: their errors, the TLS versions, and the server names.
@Suite(.timeLimit(.minutes(10))) struct HandshakeTests {
    @Test func errorNamesAServerWithoutTLS() async throws {
        let server = try SecureServer(nil, .sendAtFirstByte("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"))
        let outcome = try await SecureLoaderFixture().load(server.url)
        #expect(outcome.code == .secureConnectionFailed)
        #expect(outcome.text.contains("https://127.0.0.1:\(server.port)"))
        #expect(outcome.text.contains("not TLS; if it speaks plain HTTP there, try http:"))
        #expect(outcome.challengeCount == 0)
        try await server.stop()
    }

    @Test(arguments: [
        (SecureServer.Behaviour.close, ["closed the connection in the TLS handshake"]),
        (.reset, ["in the TLS handshake"]),
    ])
    func aConnectionThatEndsInTheHandshakeFailsTheLoad(behaviour: SecureServer.Behaviour, phrases: [String]) async throws {
        let server = try SecureServer(nil, behaviour)
        let outcome = try await SecureLoaderFixture().load(server.url)
        #expect(outcome.code == .secureConnectionFailed)
        for phrase in phrases { #expect(outcome.text.contains(phrase)) }
        try await server.stop()
    }

    @Test func connectTimeoutEndsAStalledHandshake() async throws {
        let server = try SecureServer(nil, .silence)
        let outcome = try await SecureLoaderFixture { $0.connectionLimits.connectTimeout = .seconds(2) }.load(server.url)
        #expect(outcome.code == .timedOut)
        #expect(outcome.text.contains("the TLS handshake did not answer"))
        try await server.wait(for: .closed)
        try await server.stop()
    }

    @Test func timeOfAChallengeDoesNotCountForTheConnectTimeout() async throws {
        let (server, stalledServer) = (try await SecureServer("good"), try SecureServer(nil, .silence))
        let fixture = try SecureLoaderFixture { $0.connectionLimits.connectTimeout = .seconds(5) }
        let pendingChallenges = PendingChallenges()
        async let outcome = fixture.load(server.url, pending: pendingChallenges)
        let challenge = try await pendingChallenges.next()
        // Another handshake begins and reaches the time limit in the meantime.
        #expect(try await fixture.load(stalledServer.url).code == .timedOut)
        challenge.answer(.performDefault)
        #expect(try await outcome.text == "hello")
        try await server.stop()
        try await stalledServer.stop()
    }

    @Test(arguments: [
        (TLSSettings.Version.tls12, TLSSettings.Version.tls12, "TLSv1.2"), (.tls13, .tls13, "TLSv1.3"), (.tls12, .tls13, "TLSv1.3"),
    ])
    func tlsVersionIsTheHighestThatIsAllowed(minimum: TLSSettings.Version, maximum: TLSSettings.Version, negotiatedVersion: String)
        async throws
    {
        let server = try await SecureServer("good")
        let fixture = try SecureLoaderFixture { ($0.tls.minimumVersion, $0.tls.maximumVersion) = (minimum, maximum) }
        let outcome = try await fixture.load(server.url)
        #expect(outcome.task.metrics.transfers.map(\.tlsVersion) == [negotiatedVersion])
        try await server.stop()
    }

    @Test func errorSaysThatNoAllowedTLSVersionIsShared() async throws {
        let server = try await SecureServer("good") { $0.maximumVersion = .tls12 }
        let outcome = try await SecureLoaderFixture { $0.tls.minimumVersion = .tls13 }.load(server.url)
        #expect(outcome.code == .secureConnectionFailed)
        #expect(outcome.text.contains("none of the allowed TLS versions"))
        try await server.stop()
    }

    @Test func minimumVersionAboveTheMaximumIsRefused() async throws {
        let fixture = try SecureLoaderFixture { ($0.tls.minimumVersion, $0.tls.maximumVersion) = (.tls13, .tls12) }
        let server = try await SecureServer("good")
        #expect(try await fixture.load(server.url).text.contains("minimum version of TLS is above the maximum"))
        try await server.stop()
    }

    @Test func hostNameIsSentAndVerified() async throws {
        let server = try await SecureServer("good")
        #expect(try await SecureLoaderFixture().load("https://localhost:\(server.port)/").text == "hello")
        #expect(try await SecureLoaderFixture().load(server.url).text == "hello")
        #expect(server.events.filter { if case .named = $0 { true } else { false } } == [.named("localhost"), .named(nil)])
        try await server.stop()
    }

    /// TLS messages without data cost the client more than the server, and OpenSSL has no limit for them.
    @Test("A server may send some session tickets, but too many without data end the connection", arguments: [(60, true), (100, false)])
    func manyTicketsEndTheConnection(tickets: Int, isAllowed: Bool) async throws {
        let server = try await SecureServer("good", .script([.tls(.sendTickets(tickets)), .send(text: SecureServer.hello)])) {
            $0.minimumVersion = .tls13
            $0.ticketCount = 0
        }
        let outcome = try await SecureLoaderFixture().load(server.url)
        #expect(outcome.code == (isAllowed ? nil : .secureConnectionFailed))
        #expect(outcome.text.contains(isAllowed ? "hello" : "too many TLS messages that carry no data"), "\(outcome.text)")
        try await server.stop()
    }

    /// The server name indication contains no address and no trailing dot (RFC 6066 §3).
    @Test(arguments: [
        ("localhost.", "localhost"), ("Example.COM", "example.com"), ("127.0.0.1", nil), ("::1", nil), (".", nil), ("", nil),
        (String(repeating: "a", count: 254), nil),
    ])
    func serverNameOmitsTheTrailingDotAndAddresses(host: String, name: String?) {
        #expect(ServerName(host: host).indication == name)
    }

    /// A body that ends with the connection is complete only after a close_notify (RFC 9112 §9.8).
    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\n\r\nhello", LoadError.Code.truncated as LoadError.Code?),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", nil),
        ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello", .truncated),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", nil),
    ])
    func missingCloseNotifyTruncatesABodyOfUnknownLength(response: String, code: LoadError.Code?) async throws {
        let server = try await SecureServer("good", .respondWithoutCloseNotify(response))
        let outcome = try await SecureLoaderFixture().load(server.url)
        #expect(outcome.code == code)
        #expect(outcome.delegate.text == "hello")
        try await server.stop()
    }
}
