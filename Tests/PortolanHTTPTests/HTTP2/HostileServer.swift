// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import ServerSupport
import Synchronization

@testable import PortolanHTTP

/// An HTTP/2 server in bytes, without TLS: it shares no code with what it tests, and keeps to no rule that the test does not keep.
struct HostileServer {
    typealias F = ServerFrames

    /// A request, as the server sees it.
    struct Arrival: Sendable {
        /// Of the connection, from 0.
        let connection: Int
        /// Of all requests to the server, from 0.
        let number: Int
        let stream: Int
    }

    let server: ScriptedServer
    private let counter: Counter

    private final class Counter: Sendable {
        let count = Atomic(0)
    }

    /// The requests of one connection, by their streams.
    private final class Arrivals: Sendable {
        let byStream = Mutex<[Int: Arrival]>([:])
    }

    /// How many requests have come, those that were sent again among them.
    var requestCount: Int { counter.count.load(ordering: .acquiring) }

    /// - Parameters:
    ///   - greeting: what the server sends before anything else.
    ///   - head: what it sends when the head of a request has come.
    ///   - whole: what it sends when a request has come as a whole.
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
                .answerFrames { frame in
                    if frame.isHead {
                        let number = counter.count.add(1, ordering: .acquiringAndReleasing).oldValue
                        arrivals.byStream.withLock {
                            $0[frame.stream] = Arrival(connection: connection, number: number, stream: frame.stream)
                        }
                    }
                    guard let arrival = arrivals.byStream.withLock({ $0[frame.stream] }) else { return [] }
                    var bytes: [UInt8] = []
                    if frame.isHead {
                        guard let answer = head(arrival) else { return nil }
                        bytes += answer
                    }
                    if frame.endsRequest {
                        guard let answer = whole(arrival) else { return nil }
                        bytes += answer
                    }
                    return bytes
                },
            ]
        }
    }

    func request(_ change: (inout Request) -> Void = { _ in }) throws -> Request {
        var request = try Request(server.url())
        request[HTTPVersionChoice.self] = .http2
        change(&request)
        return request
    }
}
