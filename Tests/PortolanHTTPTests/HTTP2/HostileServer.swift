// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import ServerSupport
import Synchronization

@testable import PortolanHTTP

/// An HTTP/2 server without TLS that sends the bytes of the test. It shares no code with the client, and does not
/// enforce any rule.
struct HostileServer {
    typealias F = ServerFrames

    /// A request, as the server receives it.
    struct Arrival: Sendable {
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
    private final class Arrivals: Sendable {
        let byStream = Mutex<[Int: Arrival]>([:])
    }

    /// The number of requests that have arrived, including resent ones.
    var requestCount: Int { counter.count.load(ordering: .acquiring) }

    /// - Parameters:
    ///   - greeting: the bytes that the server sends first.
    ///   - head: the bytes that it sends after the head of a request.
    ///   - whole: the bytes that it sends after a whole request.
    init(
        greeting: @escaping @Sendable (_ connection: Int) -> [UInt8] = { _ in F.settings() },
        head: @escaping @Sendable (Arrival) -> [UInt8]? = { _ in [] }, whole: @escaping @Sendable (Arrival) -> [UInt8]? = { _ in [] }
    ) throws {
        let counter = Counter()
        self.counter = counter
        server = try ScriptedServer { connection in
            let arrivals = Arrivals()
            return [
                .receiveThrough("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), .send(greeting(connection)),
                .respondToFrames { frame in
                    if frame.isHead {
                        let number = counter.count.add(1, ordering: .acquiringAndReleasing).oldValue
                        arrivals.byStream.withLock {
                            $0[frame.stream] = Arrival(connection: connection, number: number, stream: frame.stream)
                        }
                    }
                    guard let arrival = arrivals.byStream.withLock({ $0[frame.stream] }) else { return [] }
                    var bytes: [UInt8] = []
                    if frame.isHead {
                        guard let response = head(arrival) else { return nil }
                        bytes += response
                    }
                    if frame.endsRequest {
                        guard let response = whole(arrival) else { return nil }
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
