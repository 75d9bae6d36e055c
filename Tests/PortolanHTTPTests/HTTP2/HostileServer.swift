// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import ServerSupport
import Synchronization

@testable import PortolanHTTP

/// An HTTP/2 server without TLS that sends the bytes that closures of the test return. It shares no code with the
/// client, and sends invalid frames, too.
struct HostileServer {
    typealias Frames = ServerFrames

    /// A request that the server has begun to receive.
    struct ReceivedRequest: Sendable {
        /// The number of the connection, from 0.
        let connection: Int
        /// The number of the request among all requests to the server, from 0.
        let number: Int
        let stream: Int
    }

    let server: ScriptedServer
    private let counter: Counter

    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    /// The requests of one connection, by stream.
    private final class ReceivedRequests: Sendable {
        let byStream = Mutex<[Int: ReceivedRequest]>([:])
    }

    /// The number of requests that the server has received. A request that the client sends again counts again.
    var requestCount: Int { counter.count.load(ordering: .acquiring) }

    /// - Parameters:
    ///   - greeting: returns the bytes that the server sends first.
    ///   - afterHead: returns the bytes that the server sends after a head; `nil` closes the connection.
    ///   - afterRequest: returns the bytes that the server sends after a request; `nil` closes the connection.
    init(
        greeting: @escaping @Sendable (_ connection: Int) -> [UInt8] = { _ in Frames.settings() },
        afterHead: @escaping @Sendable (ReceivedRequest) -> [UInt8]? = { _ in [] },
        afterRequest: @escaping @Sendable (ReceivedRequest) -> [UInt8]? = { _ in [] }
    ) throws {
        let counter = Counter()
        self.counter = counter
        server = try ScriptedServer { connection in
            let requests = ReceivedRequests()
            return [
                .receiveThrough("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), .send(greeting(connection)),
                .respondToFrames { frame in
                    if frame.isHead {
                        let number = counter.count.add(1, ordering: .acquiringAndReleasing).oldValue
                        requests.byStream.withLock {
                            $0[frame.stream] = ReceivedRequest(connection: connection, number: number, stream: frame.stream)
                        }
                    }
                    guard let received = requests.byStream.withLock({ $0[frame.stream] }) else { return [] }
                    var bytes: [UInt8] = []
                    if frame.isHead {
                        guard let response = afterHead(received) else { return nil }
                        bytes += response
                    }
                    if frame.endsRequest {
                        guard let response = afterRequest(received) else { return nil }
                        bytes += response
                    }
                    return bytes
                },
            ]
        }
    }

    func request(_ change: (inout Request) -> Void = { _ in }) throws -> Request {
        var request = try Request(server.url())
        request.httpVersion = .http2
        change(&request)
        return request
    }
}
