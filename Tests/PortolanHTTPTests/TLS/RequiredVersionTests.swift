// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import ServerSupport
import Testing

@testable import PortolanHTTP

/// A server that speaks HTTP/2, but responds to each request with HTTP_1_1_REQUIRED (RFC 9113 §7).
@Suite(.timeLimit(.minutes(10))) struct RequiredVersionTests {
    private static func server() async throws -> SecureServer {
        try await SecureServer("good", .requireHTTP1(SecureServer.hello)) { $0.applicationProtocols = ["h2", "http/1.1"] }
    }

    private static func run(_ request: Request) async throws -> (LoadTask, RecordingDelegate) {
        let delegate = RecordingDelegate()
        let task = try SecureLoaderFixture { $0.allowsHTTP2 = true }.loader.task(for: request, delegate: delegate)
        task.resume()
        await delegate.ended()
        return (task, delegate)
    }

    /// The server did not process the request, so the client can send a request of any method again.
    @Test(arguments: [HTTPRequest.Method.get, .post]) func requestIsSentAgainOverHTTP1(_ method: HTTPRequest.Method) async throws {
        let server = try await Self.server()
        let (task, delegate) = try await Self.run(Request(server.url, method: method))
        #expect(delegate.error == nil && delegate.text == "hello", "\(String(describing: delegate.error))")
        #expect(task.metrics.transfers.last?.networkProtocol == "http/1.1")
        #expect(server.events.count { if case .secured = $0 { true } else { false } } == 2)
        #expect(server.count(.requestBegan) == 2)
        try await server.stop()
    }

    @Test func requestThatAllowsOnlyHTTP2Fails() async throws {
        let server = try await Self.server()
        var request = try Request(server.url)
        request.httpVersion = .http2
        let (_, delegate) = try await Self.run(request)
        #expect(delegate.error?.code == .connectionLost)
        #expect(
            delegate.error?.description
                == "https://127.0.0.1:\(server.port) reset the stream with HTTP_1_1_REQUIRED; ask for HTTP/1.1")
        #expect(server.count(.requestBegan) == 1)
        try await server.stop()
    }
}
