// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import PortolanCore
import PortolanHTTP
import PortolanTransport
import ServerSupport
import Testing

@Suite("https: through an HTTP proxy", .timeLimit(.minutes(10)))
struct TunnelTests {
    private static let refusal = "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 2\r\n\r\nno"
    private static let established = "HTTP/1.1 200 Connection established\r\n\r\n"

    /// The error of a load that must fail.
    private static func failure(_ loader: Loader, _ delegate: AnsweringDelegate? = nil, request: Request? = nil) async throws -> LoadError?
    {
        let request = try request ?? Request("https://origin.test/secret?path")
        return await #expect(throws: LoadError.self) { try await loader.data(for: request, delegate: delegate) }
    }

    private static func loader(_ proxy: ScriptedServer, user: String = "", _ change: (inout HTTPConfiguration) -> Void = { _ in }) -> Loader
    {
        .http(.proxy(user + "127.0.0.1:\(proxy.port)"), change)
    }

    /// The head that the proxy received, and the bytes after it.
    private static func split(_ connection: ScriptedConnection) -> (head: String, tunnelBytes: ArraySlice<UInt8>) {
        let text = connection.text
        guard let end = text.range(of: "\r\n\r\n") else { return (text, []) }
        return (String(text[..<end.upperBound]), connection.received.dropFirst(text[..<end.upperBound].utf8.count))
    }

    @Test(arguments: [[ScriptedServer.Step.send(text: established)], [.sendByteByByte(Array(established.utf8))]])
    func connectNamesHostAndPortAndTheTunnelStartsWithTLS(_ responseSteps: [ScriptedServer.Step]) async throws {
        let proxy = try ScriptedServer([.receiveHead] + responseSteps + [.receive(5), .close])
        let request = try Request(
            "https://user:p1@origin.test/secret?path",
            fields: [.authorization: "Own secret", .cookie: "secret"])
        let error = try await Self.failure(Self.loader(proxy, user: "user:p1@"), request: request)
        #expect(error?.code == .secureConnectionFailed)
        try #require(!proxy.connections.isEmpty)
        let (head, tunnelBytes) = Self.split(proxy.connections[0])
        #expect(head.hasPrefix("CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n"))
        #expect(head.contains("\r\nProxy-Authorization: Basic dXNlcjpwMQ==\r\n"))
        #expect(!head.contains("secret") && !head.contains("\r\nAuthorization"))
        #expect(tunnelBytes.prefix(2) == [0x16, 3])
        #expect(!String(decoding: tunnelBytes, as: UTF8.self).contains("dXNlcjpwMQ=="))
        #expect(proxy.connections.count == 1)
    }

    @Test func callersProxyAuthorizationIsRefusedForATunnel() async throws {
        let proxy = try ScriptedServer(ScriptedServer.responding(Self.established))
        let request = try Request("https://origin.test/", fields: [.proxyAuthorization: "Own secret"])
        let error = try await Self.failure(Self.loader(proxy), request: request)
        #expect(error?.code == .badRequest && error?.message.contains("secret") == false)
        #expect(proxy.connections.isEmpty)
    }

    @Test func connectWritesAnIPv6OriginInBrackets() async throws {
        let proxy = try ScriptedServer(ScriptedServer.responding("HTTP/1.1 403 No\r\n\r\n"))
        _ = try await Self.failure(Self.loader(proxy), request: Request("https://[::1]:8443/"))
        try #require(!proxy.connections.isEmpty)
        #expect(proxy.connections[0].text.hasPrefix("CONNECT [::1]:8443 HTTP/1.1\r\nHost: [::1]:8443\r\n"))
    }

    @Test func refusedTunnelFailsTheLoadAndNamesTheStatusLine() async throws {
        let proxy = try ScriptedServer(ScriptedServer.responding("HTTP/1.1 403 Not there\r\nContent-Length: 5\r\n\r\nphish"))
        let error = try await Self.failure(Self.loader(proxy))
        #expect(error?.code == .tunnelFailed)
        #expect(error?.message.contains("refused a tunnel to origin.test:443 with '403 Not there'") == true)
        try await proxy.waitUntilClosed()
    }

    @Test func credentialOfTheDelegateOpensTheTunnel() async throws {
        let proxy = try ScriptedServer(
            ScriptedServer.responding(Self.refusal), ScriptedServer.responding(Self.refusal),
            [.receiveHead, .send(text: Self.established), .receive(5), .close])
        let delegate = AnsweringDelegate(passwords: "p1", "p2")
        let error = try await Self.failure(Self.loader(proxy), delegate)
        #expect(error?.code == .secureConnectionFailed)
        #expect(delegate.challenges.map(\.failureCount) == [0, 1])
        #expect(delegate.challenges.map(\.space.isProxy) == [true, true])
        #expect(delegate.challenges.first?.space.host == "127.0.0.1" && delegate.challenges.first?.space.realm == "p")
        let heads = proxy.connections.map { Self.split($0).head }
        #expect(heads.map { $0.contains("Basic dXNlcjpwMQ==") } == [false, true, false])
        #expect(heads.map { $0.contains("Basic dXNlcjpwMg==") } == [false, false, true])
    }

    @Test func loadFailsWithoutAProxyCredential() async throws {
        for (answer, code) in [
            (ChallengeAnswer.continueWithoutCredential, LoadError.Code.tunnelFailed), (.performDefault, .tunnelFailed),
            (.rejectProtectionSpace, .authenticationRequired), (.cancel, .authenticationCancelled),
        ] {
            let proxy = try ScriptedServer(ScriptedServer.responding(Self.refusal))
            let error = try await Self.failure(Self.loader(proxy), AnsweringDelegate { _ in answer })
            #expect(error?.code == code && error?.underlyingError == nil)
        }
        let proxy = try ScriptedServer(ScriptedServer.responding("HTTP/1.1 407 Who\r\nProxy-Authenticate: Negotiate\r\n\r\n"))
        let delegate = AnsweringDelegate(passwords: "p1")
        let error = try await Self.failure(Self.loader(proxy), delegate)
        #expect(error?.code == .tunnelFailed && error?.message.contains("'407 Who'") == true && error?.underlyingError == nil)
        #expect(delegate.challenges.isEmpty)
    }

    @Test func eachWaitingLoadGetsItsOwnChallenge() async throws {
        let proxy = try ScriptedServer(ScriptedServer.responding(Self.refusal))
        let loader = Self.loader(proxy)
        let delegates = (0..<10).map { _ in AnsweringDelegate { _ in .cancel } }
        await withTaskGroup(of: Void.self) { group in
            for delegate in delegates {
                group.addTask { _ = try? await loader.data(for: Request("https://origin.test/"), delegate: delegate) }
            }
        }
        #expect(delegates.allSatisfy { $0.challenges.count == 1 })
    }

    @Test(arguments: [
        ([ScriptedServer.Step.receiveHead, .close], [LoadError.Code.tunnelFailed]),
        // The reset can arrive before connect(2) has returned.
        ([.reset], [.tunnelFailed, .cannotConnect]),
        ([.receiveHead, .halfClose, .stall], [.tunnelFailed]),
        ([.receiveHead, .send(text: "HTTP/1.1 20"), .close], [.tunnelFailed]),
        ([.receiveHead, .send(text: "SSH-2.0\r\n"), .stall], [.tunnelFailed]),
        ([.receiveHead, .forever([.send(text: "HTTP/1.1 100 Continue\r\n\r\n")])], [.limitExceeded]),
        ([.receiveHead, .send(text: "HTTP/1.1 200 OK\r\n"), .forever([.send(text: "A: b\r\n")])], [.limitExceeded]),
        ([.receiveHead, .forever([.send(text: "HTTP/1.1 200 OK ")])], [.limitExceeded]),
    ])
    func aProxyThatMisbehavesFailsTheLoad(_ script: [ScriptedServer.Step], _ codes: [LoadError.Code]) async throws {
        let proxy = try ScriptedServer(script)
        let error = try await Self.failure(Self.loader(proxy))
        let failure = try #require(error)
        #expect(codes.contains(failure.code) && failure.message.contains("proxy http://127.0.0.1:\(proxy.port)"), "\(failure)")
        try await proxy.waitUntilClosed()
    }

    @Test func timeoutErrorNamesASilentProxy() async throws {
        let proxy = try ScriptedServer([.receiveHead, .stall])
        let error = try await Self.failure(Self.loader(proxy) { $0.connectionLimits.connectTimeout = .seconds(2) })
        #expect(
            error?.code == .timedOut && error?.message.contains("the proxy http://127.0.0.1:\(proxy.port)") == true,
            "\(error?.message ?? "")")
        try await proxy.waitUntilClosed()
    }

    @Test func timeoutErrorNamesTheAddressOfASilentOrigin() async throws {
        let port = try BlackHolePort()
        let loader = Loader.http { $0.connectionLimits.connectTimeout = .milliseconds(100) }
        let error = try await Self.failure(loader, request: Request("https://127.0.0.1:\(port.port)/"))
        #expect(
            error?.code == .timedOut && error?.message.contains(": 127.0.0.1 port \(port.port) did not answer") == true,
            "\(error?.message ?? "")")
    }

    @Test func cancelledLoadClosesItsTunnel() async throws {
        let connectReceived = try Gate()
        let proxy = try ScriptedServer([.receiveHead, .open(connectReceived), .stall])
        let loader = Self.loader(proxy)
        let load = Task { try await loader.data(from: "https://origin.test/") }
        try await connectReceived.wait()
        load.cancel()
        let error = await #expect(throws: LoadError.self) { try await load.value }
        #expect(error?.code == .cancelled)
        try await proxy.waitUntilClosed()
    }
}
