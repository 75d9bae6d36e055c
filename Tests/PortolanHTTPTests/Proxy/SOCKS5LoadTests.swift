// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTP
import PortolanTransport
import ServerSupport
import Testing

@Suite("Loads through a SOCKS5 proxy", .timeLimit(.minutes(10)))
struct SOCKS5LoadTests {
    private static let success = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"
    /// A CONNECT request of SOCKS5 for `origin.test` port 80.
    private static let request: [UInt8] = [5, 1, 0, 3, 11] + Array("origin.test".utf8) + [0, 80]
    /// A reply of SOCKS5 that reports success, with a bound IPv4 address.
    private static let reply: [UInt8] = [5, 0, 0, 1, 127, 0, 0, 1, 9, 9]
    private static let httpSteps: [ScriptedServer.Step] = [.receiveHead, .send(text: success)]

    private static func loader(_ proxy: ScriptedServer, scheme: String = "socks5h", user: String = "") -> Loader {
        .http(.proxy("\(scheme)://\(user)127.0.0.1:\(proxy.port)"))
    }

    private static func load(_ loader: Loader, _ delegate: AnsweringDelegate? = nil) async throws -> String {
        let request = try Request("http://origin.test/a")
        return String(decoding: try await loader.data(for: request, delegate: delegate).0, as: UTF8.self)
    }

    @Test func tunnelCarriesTheRequestInOriginForm() async throws {
        let proxy = try ScriptedServer([.receive(3), .send([5, 0]), .receive(Self.request.count), .send(Self.reply)] + Self.httpSteps)
        #expect(try await Self.load(Self.loader(proxy)) == "yes")
        try #require(!proxy.connections.isEmpty)
        let received = proxy.connections[0].received
        #expect(received.prefix(3) == [5, 1, 0])
        #expect(Array(received.dropFirst(3).prefix(Self.request.count)) == Self.request)
        let head = String(decoding: received.dropFirst(3 + Self.request.count), as: UTF8.self)
        #expect(head.hasPrefix("GET /a HTTP/1.1\r\nHost: origin.test\r\n") && !head.contains("secret"))
    }

    @Test func repliesThatArriveByteByByteAreParsed() async throws {
        let proxy = try ScriptedServer(
            [.receive(3), .sendByteByByte([5, 0]), .receive(Self.request.count), .sendByteByByte(Self.reply)] + Self.httpSteps)
        #expect(try await Self.load(Self.loader(proxy)) == "yes")
    }

    @Test func loginOfTheProxyURLIsSent() async throws {
        let login: [UInt8] = [1, 4] + Array("user".utf8) + [2] + Array("p1".utf8)
        let proxy = try ScriptedServer(
            [.receive(4), .send([5, 2]), .receive(login.count), .send([1, 0]), .receive(Self.request.count), .send(Self.reply)]
                + Self.httpSteps)
        #expect(try await Self.load(Self.loader(proxy, user: "user:p1@")) == "yes")
        try #require(!proxy.connections.isEmpty)
        #expect(Array(proxy.connections[0].received.prefix(4 + login.count)) == [5, 2, 0, 2] + login)
    }

    @Test func missingOrWrongLoginChallengesTheDelegate() async throws {
        let proxy = try ScriptedServer(
            [.receive(3), .send([5, 0xFF]), .close], [.receive(4), .send([5, 2]), .receive(9), .send([1, 1]), .close],
            [.receive(4), .send([5, 2]), .receive(9), .send([1, 0]), .receive(Self.request.count), .send(Self.reply)] + Self.httpSteps)
        let delegate = AnsweringDelegate(passwords: "p1", "p2")
        #expect(try await Self.load(Self.loader(proxy), delegate) == "yes")
        #expect(delegate.challenges.map(\.failureCount) == [0, 1])
        #expect(
            delegate.challenges.first?.space
                == ProtectionSpace(
                    kind: .password(scheme: ""), protocolName: "socks5h", host: "127.0.0.1", port: proxy.port, realm: nil, isProxy: true))
    }

    @Test func loadFailsWithoutALogin() async throws {
        let proxy = try ScriptedServer([.receive(3), .send([5, 0xFF]), .close])
        let error = await #expect(throws: LoadError.self) { try await Self.load(Self.loader(proxy)) }
        #expect(error?.code == .socksFailed && error?.underlyingError == nil)
    }

    @Test(arguments: [(2, "its rules do not allow that connection"), (99, "an unknown reason (99)")])
    func errorDescribesTheRefusalOfTheProxy(_ replyCode: UInt8, _ reason: String) async throws {
        let proxy = try ScriptedServer([.receive(3), .send([5, 0]), .receive(Self.request.count), .send([5, replyCode, 0, 1]), .close])
        let error = await #expect(throws: LoadError.self) { try await Self.load(Self.loader(proxy)) }
        #expect(error?.code == .socksFailed)
        let end = "'origin.test' port 80: \(reason); check that address, or load without the proxy"
        #expect(error?.description.hasSuffix(end) == true, "\(error?.description ?? "")")
    }

    @Test(arguments: [
        [ScriptedServer.Step.close], [.receive(3), .send([5]), .close], [.receive(3), .send([5, 0]), .close],
        [.receive(3), .send([5, 0]), .receive(18), .send([5, 0, 0, 3, 255]), .close], [.receive(3), .reset],
        [.receive(3), .send([5, 0, 5, 0, 0, 9]), .stall], [.forever([.send([0xFF])])],
    ])
    func aProxyThatMisbehavesFailsTheLoad(_ script: [ScriptedServer.Step]) async throws {
        let proxy = try ScriptedServer(script)
        let error = await #expect(throws: LoadError.self) { try await Self.load(Self.loader(proxy)) }
        #expect(error?.message.contains("proxy socks5h://127.0.0.1:\(proxy.port)") == true, "\(error?.message ?? "")")
        try await proxy.waitUntilClosed()
    }

    @Test func status407OfAnOriginInTheTunnelMakesNoChallenge() async throws {
        let refusal = "HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic realm=\"p\"\r\nContent-Length: 2\r\n\r\nno"
        let proxy = try ScriptedServer(
            [.receive(3), .send([5, 0]), .receive(Self.request.count), .send(Self.reply), .receiveHead, .send(text: refusal)])
        let delegate = AnsweringDelegate(passwords: "p1")
        #expect(try await Self.load(Self.loader(proxy), delegate) == "no")
        #expect(delegate.challenges.isEmpty && proxy.connections.count == 1)
    }

    /// The client has not sent its HTTP request yet, so the bytes can not be a response to it.
    @Test func bytesAfterTheReplyAreNotTakenForAResponse() async throws {
        let proxy = try ScriptedServer([
            .receive(3), .send([5, 0]), .receive(Self.request.count), .send(Self.reply + Array(Self.success.utf8)),
        ])
        let error = await #expect(throws: LoadError.self) { try await Self.load(Self.loader(proxy)) }
        #expect(error?.code == .socksFailed && error?.message.contains("before the client sent any") == true)
    }

    @Test func socks5SchemeSendsResolvedAddresses() async throws {
        let proxy = try ScriptedServer { _ in
            [.receive(3), .send([5, 0]), .receive(10), .send([5, 4]), .close]
        }
        let loader = Self.loader(proxy, scheme: "socks5")
        let error = await #expect(throws: LoadError.self) { try await loader.data(from: "http://localhost:8080/") }
        #expect(error?.message.contains("host unreachable") == true)
        // Each address of the name was tried once.
        let destinations = proxy.connections.map { Array($0.received.dropFirst(3)) }
        let ipv6: [UInt8] = [5, 1, 0, 4] + [UInt8](repeating: 0, count: 15) + [1, 0x1F, 0x90]
        let ipv4: [UInt8] = [5, 1, 0, 1, 127, 0, 0, 1, 0x1F, 0x90]
        #expect([[ipv4], [ipv6], [ipv6, ipv4]].contains(destinations), "\(destinations)")
    }

    @Test func unknownHostFailsBeforeTheProxyIsUsed() async throws {
        let proxy = try ScriptedServer([.receiveToEnd])
        let loader = Self.loader(proxy, scheme: "socks5")
        let error = await #expect(throws: LoadError.self) { try await loader.data(from: "http://nosuch.invalid/") }
        #expect(error?.code == .socksFailed && error?.message.contains("socks5h") == true)
        #expect(proxy.connections.allSatisfy { $0.received.isEmpty })
    }
}
