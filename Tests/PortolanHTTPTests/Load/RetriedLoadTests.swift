// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import PortolanTransport
import ServerSupport
import TestThreads
import Testing

@testable import PortolanHTTP

/// Loads over HTTP that the loader tries again (``RetryPolicy``). The waits are zero.
@Suite(.timeLimit(.minutes(10))) struct RetriedLoadTests {
    private static let yes = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"
    private static let busy = "HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 4\r\n\r\nbusy"

    private func loader(_ limit: Int = 2) -> Loader {
        var policy = RetryPolicy(limit: limit)
        policy.initialDelay = .zero
        var http = HTTPConfiguration()
        (http.proxies, http.threadCount) = (.direct, 1)
        return PortolanTestSupport.loader(HTTPHandler(configuration: http)) { $0.retries = policy }
    }

    /// What a server does with its first two connections, so that a third is needed.
    @Test(
        arguments: [
            [[.receiveHead, .send(text: busy)], [.receiveHead, .close]],
            [[.receiveHead, .reset], [.receiveHead, .send(text: "HTTP/1.1 100 Continue\r\n\r\n"), .close]],
            [[.receiveHead, .send(text: "HTTP/1.1 429 Too Many\r\nContent-Length: 100\r\n\r\n")], [.close]],
        ] as [[[ScriptedServer.Step]]])
    func temporaryFailuresAreNotDelivered(scripts: [[ScriptedServer.Step]]) async throws {
        let server = try ScriptedServer { $0 < 2 ? scripts[$0] : ScriptedServer.responding(Self.yes) }
        let delegate = RecordingDelegate()
        let task = loader().task(for: try Request(server.url()), delegate: delegate)
        task.resume()
        await delegate.ended()
        #expect(delegate.text == "yes" && delegate.events.last == .finished)
        #expect(server.connections.count == 3 && task.metrics.requestCount == 3)
    }

    @Test func bodyIsSentAgain() async throws {
        let server = try ScriptedServer { [.receiveThrough("the body"), .send(text: $0 == 0 ? Self.busy : Self.yes)] }
        let (body, _) = try await loader().data(for: Request(server.url(), method: .put, body: .text("this is the body")))
        #expect(String(decoding: body, as: UTF8.self) == "yes")
        let received = server.connections.map { String(decoding: $0.received, as: UTF8.self) }
        #expect(received.count == 2 && received.allSatisfy { $0.hasSuffix("\r\n\r\nthis is the body") })
    }

    @Test func postAndPartialBodyAreNotRetried() async throws {
        let busy = try ScriptedServer { _ in ScriptedServer.responding(Self.busy) }
        let (_, response) = try await loader().data(for: Request(busy.url(), method: .post))
        #expect(response.status?.code == 503 && busy.connections.count == 1)
        let partial = try ScriptedServer { _ in ScriptedServer.responding("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart") }
        let error = try await #require(throws: LoadError.self) { try await loader().data(from: partial.url()) }
        #expect(error.code == .truncated || error.code == .connectionLost)
        #expect(partial.connections.count == 1)
    }

    /// The thread that waits for the load also waits for its next attempts.
    @Test func blockingCallerSeesOnlyTheResult() async throws {
        let server = try ScriptedServer { $0 < 2 ? [.receiveHead, .send(text: Self.busy)] : ScriptedServer.responding(Self.yes) }
        let (loader, request) = (loader(), try Request(server.url()))
        let result = try await inOwnThread { try loader.waitForData(for: request).0 }
        #expect(String(decoding: result, as: UTF8.self) == "yes" && server.connections.count == 3)
    }
}
