// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCoding
import PortolanCore
import PortolanTestSupport
import ServerSupport
import Testing

@testable import PortolanHTTP
@testable import PortolanTransport

/// HTTP/1.1 connections over real sockets, to a scripted server.
@Suite("HTTP/1.1 connections", .timeLimit(.minutes(10)))
struct ConnectionTests {
    private static let yes = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"

    /// A loader with its own connections, which follows no redirects.
    private static func loader(_ change: (inout HTTPConfiguration) -> Void = { _ in }) -> Loader {
        var http = HTTPConfiguration()
        http.proxies = .direct
        change(&http)
        var configuration = Loader.Configuration()
        configuration.redirects = RedirectPolicy(mode: .manual)
        let registry = ProtocolRegistry()
        registry.register(HTTPHandler(configuration: http))
        return Loader(configuration: configuration, registry: registry)
    }

    /// The body of a response, as text.
    private static func text(_ loader: Loader, _ server: ScriptedServer, _ method: HTTPRequest.Method = .get) async throws -> String {
        let (body, _) = try await loader.data(for: Request(server.url(), method: method))
        return String(decoding: body, as: UTF8.self)
    }

    /// The code of the load error that `operation` throws; `nil` if it throws none.
    private static func code(_ operation: () async throws -> Void) async -> LoadError.Code? {
        do { try await operation() } catch { return (error as? LoadError)?.code }
        return nil
    }

    // MARK: The table of responses, through a loader

    @Test(arguments: ResponseTable.all) func responsesOfTheTableAreDeliveredOrFail(_ row: ResponseCase) async throws {
        let server = try ScriptedServer([.receiveHead, .send(row.bytes)])
        var request = try Request(server.url(), method: row.method)
        request.decodesContent = false
        // A request of a caller can not have the method CONNECT.
        if row.method == .connect { return }
        do {
            let (body, response) = try await Self.loader().data(for: request)
            guard case .response(let delivered) = row.outcome else {
                Issue.record("delivered, but a failure was expected: \(response)")
                return
            }
            #expect(response.status?.code == delivered.status)
            #expect([UInt8](body) == delivered.body)
        } catch {
            guard case .failure(let code) = row.outcome else {
                Issue.record("failed, but a response was expected: \(error)")
                return
            }
            #expect(error.code == code, "\(error)")
        }
        try await server.waitUntilClosed()
    }

    // MARK: Bytes that remain on a connection

    @Test(arguments: [
        // More bytes than Content-Length.
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyesHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyesevil",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes\r\n",
        // A response that can be read in two ways.
        "HTTP/1.1 200 OK\r\nContent-Length: 30\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\nHTTP/1.1 200 OK",
    ])
    func bytesAfterAResponseAreNotDeliveredToTheNextLoad(_ firstResponse: String) async throws {
        let server = try ScriptedServer(
            [.receiveHead, .send(text: firstResponse), .receiveToEnd], [.receiveHead, .send(text: Self.yes), .receiveToEnd])
        let loader = Self.loader()
        #expect(try await Self.text(loader, server) == "yes")
        #expect(try await Self.text(loader, server) == "yes")
        #expect(server.connections.count == 2)
    }

    @Test func unrequestedBytesCloseAnIdleConnection() async throws {
        let gate = try Gate()
        let server = try ScriptedServer(
            [
                .receiveHead, .send(text: Self.yes), .wait(gate), .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"),
                .receiveToEnd,
            ],
            [.receiveHead, .send(text: Self.yes), .receiveToEnd])
        let loader = Self.loader()
        #expect(try await Self.text(loader, server) == "yes")
        gate.open()
        try await server.waitUntilClosed()
        #expect(try await Self.text(loader, server) == "yes")
        #expect(server.connections.count == 2)
    }

    @Test func connectionIsReused() async throws {
        let server = try ScriptedServer([.forever([.receiveHead, .send(text: Self.yes)])])
        let loader = Self.loader()
        for _ in 0..<5 { #expect(try await Self.text(loader, server) == "yes") }
        #expect(server.connections.count == 1)
    }

    @Test(arguments: ["Content-Length: 0\r\n\r\n", "Content-Length: 5\r\n\r\nmoved", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"])
    func redirectToTheSameOriginReusesTheConnection(_ restOfResponse: String) async throws {
        let moved = "HTTP/1.1 302 Found\r\nLocation: /there\r\n\(restOfResponse)"
        let server = try ScriptedServer([.receiveHead, .send(text: moved), .receiveHead, .send(text: Self.yes), .receiveToEnd])
        #expect(try await Self.text(.http(), server) == "yes")
        #expect(server.connections.count == 1)
    }

    @Test func redirectWithAnUnreceivedBodyUsesANewConnection() async throws {
        let moved = "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 5\r\n\r\n"
        let server = try ScriptedServer([.receiveHead, .send(text: moved), .receiveToEnd], [.receiveHead, .send(text: Self.yes)])
        #expect(try await Self.text(.http(), server) == "yes")
        #expect(server.connections.count == 2)
    }

    // MARK: Connections that the server closes

    @Test func idempotentRequestIsSentAgainAfterAStaleConnection() async throws {
        let server = try ScriptedServer(
            [.receiveHead, .send(text: Self.yes), .receiveHead, .close], [.receiveHead, .send(text: Self.yes)])
        let loader = Self.loader()
        #expect(try await Self.text(loader, server) == "yes")
        #expect(try await Self.text(loader, server) == "yes")
        #expect(server.connections.count == 2)
    }

    @Test func postIsNotSentAgainAfterAStaleConnection() async throws {
        let server = try ScriptedServer([.receiveHead, .send(text: Self.yes), .receiveHead, .close])
        let loader = Self.loader()
        #expect(try await Self.text(loader, server) == "yes")
        #expect(await Self.code { _ = try await Self.text(loader, server, .post) } == .emptyResponse)
        #expect(server.connections.count == 1)
    }

    @Test func requestIsNotSentAgainAfterANewConnectionCloses() async throws {
        let server = try ScriptedServer([.receiveHead, .close])
        #expect(await Self.code { _ = try await Self.text(Self.loader(), server) } == .emptyResponse)
        #expect(server.connections.count == 1)
    }

    @Test(arguments: [
        "", "HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
    ])
    func aResetFailsTheLoad(_ sent: String) async throws {
        let server = try ScriptedServer([.receiveHead, .send(text: sent), .reset])
        let code = await Self.code { _ = try await Self.text(Self.loader(), server) }
        #expect(code == .emptyResponse || code == .connectionLost || code == .truncated)
    }

    // MARK: Responses that never end

    @Test(arguments: [
        "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nX: y\r\n", "a",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n",
    ])
    func endlessResponsesFailTheLoad(_ piece: String) async throws {
        // Only the last line of a head is repeated.
        let lines = piece.split(separator: "\r\n", omittingEmptySubsequences: false)
        let repeatedText = piece.hasSuffix("X: y\r\n") ? "X: y\r\n" : piece
        #expect(!lines.isEmpty)
        let server = try ScriptedServer([
            .receiveHead, .send(text: piece), .forever([.send(text: String(repeating: repeatedText, count: 64))]),
        ])
        let code = await Self.code { _ = try await Self.text(Self.loader(), server) }
        #expect(code == .limitExceeded || code == .badResponse)
        try await server.waitUntilClosed()
    }

    @Test func idleTimeoutEndsALoadFromAStalledServer() async throws {
        let server = try ScriptedServer([.receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"), .stall])
        var request = try Request(server.url())
        request.timeouts.idle = .milliseconds(50)
        let finalRequest = request
        #expect(await Self.code { _ = try await Self.loader().data(for: finalRequest) } == .timedOut)
        try await server.waitUntilClosed()
    }

    // MARK: Cancelled loads and interim responses

    @Test func cancelledLoadClosesItsConnection() async throws {
        let server = try ScriptedServer([.receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"), .stall])
        let loader = Self.loader()
        let delegate = RecordingDelegate { event, task in
            if case .response = event { task.cancel() }
            return .keepGoing
        }
        loader.task(for: try Request(server.url()), delegate: delegate).resume()
        try await server.waitUntilClosed()
    }

    @Test func anInterimResponseComesBeforeTheFinalOne() async throws {
        let server = try ScriptedServer([.receiveHead, .send(text: "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n" + Self.yes)])
        let delegate = RecordingDelegate()
        let (body, _) = try await Self.loader().data(for: Request(server.url()), delegate: delegate)
        #expect(String(decoding: body, as: UTF8.self) == "yes")
        #expect(delegate.events.contains(.interim))
    }

    @Test func connectionIsNotReusedAfterAnInterimResponseWithClose() async throws {
        let closing = "HTTP/1.1 103 Early Hints\r\nConnection: close\r\n\r\n" + Self.yes
        let server = try ScriptedServer(ScriptedServer.responding(closing), ScriptedServer.responding(Self.yes))
        let loader = Self.loader()
        #expect(try await Self.text(loader, server) == "yes")
        #expect(try await Self.text(loader, server) == "yes")
        #expect(server.connections.count == 2)
    }

    /// The interim response shows that the server has received the request.
    @Test func aRequestIsNotSentAgainAfterAnInterimResponse() async throws {
        let server = try ScriptedServer(
            ScriptedServer.responding(Self.yes) + [.receiveHead, .send(text: "HTTP/1.1 103 Early Hints\r\n\r\n"), .close],
            ScriptedServer.responding(Self.yes))
        let loader = Self.loader()
        #expect(try await Self.text(loader, server) == "yes")
        #expect(await Self.code { _ = try await Self.text(loader, server) } != nil)
        #expect(server.connections.count == 1)
    }

    // MARK: Uploads

    @Test func bodyWaitsFor100Continue() async throws {
        let server = try ScriptedServer([
            .receiveHead, .send(text: "HTTP/1.1 100 Continue\r\n\r\n"), .receive(5), .send(text: Self.yes),
        ])
        let request = try Request(
            server.url(), method: .put, fields: [.expect: "100-continue"], body: .bytes(Array("hello".utf8)))
        let (body, _) = try await Self.loader { $0.expectContinue.timeout = .seconds(600) }.data(for: request)
        #expect(String(decoding: body, as: UTF8.self) == "yes")
    }

    /// The connection must read the response during the upload, even if the socket is always writable.
    @Test func earlyResponseEndsAnUploadThatTheServerReads() async throws {
        let server = try ScriptedServer([
            .receiveHead, .send(text: "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"), .receiveToEnd,
        ])
        let length = 256 << 20
        let request = try Request(server.url(), method: .put, body: .bytes([UInt8](repeating: 0, count: length)))
        let (_, response) = try await Self.loader { $0.expectContinue.bodySizeThreshold = nil }.data(for: request)
        #expect(response.status?.code == 413)
        try await server.waitUntilClosed()
        try #require(!server.connections.isEmpty)
        #expect(server.connections[0].received.count < length / 2)
    }

    @Test func connectAndTraceWithABodyAreRefused() async throws {
        let server = try ScriptedServer(ScriptedServer.responding(Self.yes))
        #expect(await Self.code { _ = try await Self.text(Self.loader(), server, .connect) } == .badRequest)
        let trace = try Request(server.url(), method: .trace, body: .text("x"))
        #expect(await Self.code { _ = try await Self.loader().data(for: trace) } == .badRequest)
        #expect(server.connections.isEmpty)
    }

    @Test func callersHostFieldIsNotSentToAnotherOrigin() async throws {
        let target = try ScriptedServer(ScriptedServer.responding(Self.yes))
        let server = try ScriptedServer(
            ScriptedServer.responding("HTTP/1.1 302 Found\r\nLocation: \(target.url())\r\nContent-Length: 0\r\n\r\n"))
        var request = try Request(server.url())
        if let host = HTTPField.Name("Host") { request.fields[host] = "elsewhere.test" }
        var http = HTTPConfiguration()
        http.proxies = .direct
        let registry = ProtocolRegistry()
        registry.register(HTTPHandler(configuration: http))
        _ = try await Loader(configuration: .init(), registry: registry).data(for: request)
        try #require(!server.connections.isEmpty)
        #expect(server.connections[0].text.contains("Host: elsewhere.test\r\n"))
        try #require(!target.connections.isEmpty)
        #expect(target.connections[0].text.contains("Host: 127.0.0.1:\(target.port)\r\n"))
    }

    @Test func earlyResponseIsDelivered() async throws {
        let server = try ScriptedServer([
            .receiveHead, .send(text: "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno"),
        ])
        let request = try Request(server.url(), method: .put, body: .bytes([UInt8](repeating: 0, count: 8 << 20)))
        let (body, response) = try await Self.loader { $0.expectContinue.bodySizeThreshold = nil }.data(for: request)
        #expect(response.status?.code == 413)
        #expect(String(decoding: body, as: UTF8.self) == "no")
    }
}
