// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTP
import PortolanTestSupport
import ServerSupport
import Testing

/// The server resets the connection (RST, not FIN) at each stage of a transaction. The load must end once, with the
/// right code. A request that must not be repeated must be sent once.
@Suite("Resets", .timeLimit(.minutes(10))) struct ResetTests {
    private typealias Step = ScriptedServer.Step

    private static let yes = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"
    private static let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\n"

    /// Runs a load and checks that it ends once.
    private static func load(
        _ loader: Loader, _ server: ScriptedServer, _ method: HTTPRequest.Method = .get, body: Body? = nil,
        onEvent: @escaping @Sendable (RecordingDelegate.Event) -> Void = { _ in }
    ) async throws -> LoadError? {
        let delegate = RecordingDelegate { event, _ in
            onEvent(event)
            return .keepGoing
        }
        loader.task(for: try Request(server.url(), method: method, body: body), delegate: delegate).resume()
        await delegate.ended()
        #expect(delegate.events.count(where: \.isEnd) == 1 && delegate.events.last?.isEnd == true)
        return delegate.error
    }

    private static func loader() -> Loader { .http { $0.expectContinue.bodySizeThreshold = nil } }

    // MARK: Before the response

    /// When the server resets a new connection.
    enum Moment: CaseIterable {
        case afterAccept, afterRequestHead

        fileprivate var steps: [ScriptedServer.Step] {
            switch self {
            case .afterAccept: [.reset]
            case .afterRequestHead: [.receiveHead, .reset]
            }
        }
    }

    @Test(arguments: Moment.allCases, [HTTPRequest.Method.get, .head, .put, .delete, .post])
    func requestIsNotSentAgainAfterAResetOfANewConnection(_ moment: Moment, _ method: HTTPRequest.Method) async throws {
        let server = try ScriptedServer(moment.steps)
        let error = try await Self.load(Self.loader(), server, method)
        // The reset can arrive before the connection is established.
        #expect(error?.code == .connectionLost || moment == .afterAccept && error?.code == .cannotConnect, "\(String(describing: error))")
        #expect(server.connections.count == 1)
    }

    @Test(arguments: [(HTTPRequest.Method.get, 2), (.head, 2), (.put, 2), (.delete, 2), (.post, 1), (.patch, 1)])
    func idempotentRequestIsSentOnceMoreAfterAResetOfAReusedConnection(_ method: HTTPRequest.Method, _ connectionCount: Int) async throws {
        let server = try ScriptedServer(
            [.receiveHead, .send(text: Self.yes), .receiveHead, .reset], [.receiveHead, .reset], [.receiveHead, .send(text: Self.yes)])
        let loader = Self.loader()
        #expect(try await Self.load(loader, server) == nil)
        let body: Body? = [.put, .post, .patch].contains(method) ? .text("") : nil
        #expect(try await Self.load(loader, server, method, body: body)?.code == .connectionLost)
        #expect(server.connections.count == connectionCount)
    }

    // MARK: In the head

    @Test(arguments: 1..<head.utf8.count) func resetWithinTheHeadFailsTheLoad(_ count: Int) async throws {
        let bytes = Array(Self.head.utf8.prefix(count))
        let server = try ScriptedServer([.receiveHead, .send(bytes), .reset])
        let error = try await Self.load(Self.loader(), server)
        #expect(error?.code == .connectionLost, "\(String(describing: error))")
        #expect(server.connections.count == 1)
    }

    @Test(arguments: Array(stride(from: 1, to: head.utf8.count, by: 7)), [(HTTPRequest.Method.get, 2), (.post, 1)])
    func resetWithinTheHeadOnAReusedConnectionFailsTheLoad(_ count: Int, _ row: (method: HTTPRequest.Method, maximumConnections: Int))
        async throws
    {
        let bytes = Array(Self.head.utf8.prefix(count))
        let server = try ScriptedServer(
            [.receiveHead, .send(text: Self.yes), .receiveHead, .send(bytes), .reset], [.receiveHead, .send(bytes), .reset])
        let loader = Self.loader()
        #expect(try await Self.load(loader, server) == nil)
        #expect(try await Self.load(loader, server, row.method)?.code == .connectionLost)
        // If the reset arrives before the response, the client can not know whether the server has received the
        // request. It then sends an idempotent request again.
        #expect((1...row.maximumConnections).contains(server.connections.count))
    }

    @Test func resetAfterAnInterimResponseFailsTheLoad() async throws {
        let received = try Gate()
        let server = try ScriptedServer([
            .receiveHead, .send(text: "HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n"), .wait(received), .reset,
        ])
        let error = try await Self.load(Self.loader(), server) { if $0 == .interim { received.open() } }
        #expect(error?.code == .connectionLost)
        #expect(server.connections.count == 1)
    }

    // MARK: In the body

    @Test(arguments: [
        "Content-Length: 9\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n9\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
        "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\nTrailer: x\r\n",
        // A FIN would end this body; a RST must not.
        "\r\nhalf",
    ])
    func resetWithinTheBodyFailsTheLoad(_ restOfResponse: String) async throws {
        let received = try Gate()
        let server = try ScriptedServer([.receiveHead, .send(text: "HTTP/1.1 200 OK\r\n" + restOfResponse), .wait(received), .reset])
        let error = try await Self.load(Self.loader(), server) { if case .data = $0 { received.open() } }
        #expect(error?.code == .connectionLost, "\(String(describing: error))")
        #expect(server.connections.count == 1)
    }

    // MARK: In the request

    @Test(arguments: [(HTTPRequest.Method.put, true), (.put, false), (.post, true), (.post, false)])
    func resetWithinAnUploadFailsTheLoad(_ method: HTTPRequest.Method, _ isReused: Bool) async throws {
        let resetSteps: [Step] = [.receiveHead, .receive(100_000), .reset]
        let server =
            isReused ? try ScriptedServer([.receiveHead, .send(text: Self.yes)] + resetSteps, resetSteps) : try ScriptedServer(resetSteps)
        let loader = Self.loader()
        if isReused { #expect(try await Self.load(loader, server) == nil) }
        let body = Body.bytes([UInt8](repeating: 1, count: 32 << 20))
        #expect(try await Self.load(loader, server, method, body: body)?.code == .connectionLost)
        #expect(server.connections.count == (isReused && method == .put ? 2 : 1))
    }
}

extension RecordingDelegate.Event {
    fileprivate var isEnd: Bool {
        switch self {
        case .finished, .failed: true
        default: false
        }
    }
}
