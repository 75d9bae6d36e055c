// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import ServerSupport
import Testing

@testable import PortolanCore
@testable import PortolanHTTP
@testable import PortolanTransport

/// Loads that wait for a connection. The test advances their clock.
@Suite("Loads that wait for a connection", .timeLimit(.minutes(10)))
struct ConnectionQueueTests {
    private static let yes = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"

    private let clock = ManualClock()

    private func loader(_ timeouts: Timeouts, _ change: (inout ConnectionLimits) -> Void) -> Loader {
        var http = HTTPConfiguration()
        http.proxies = .direct
        change(&http.connectionLimits)
        var configuration = Loader.Configuration()
        configuration.handlers = [HTTPHandler(configuration: http)]
        configuration.clock = clock
        configuration.timeouts = timeouts
        return Loader(configuration: configuration, registry: ProtocolRegistry())
    }

    /// A server for several requests on each of several connections. It sends each response when the test opens a gate.
    private final class RoundServer: Sendable {
        let server: ScriptedServer
        /// The gate of each request, by connection and number of the request. The server opens it when the request
        /// arrives.
        let arrived: [[Gate]]
        /// The gate of each response. The test opens it.
        let responses: [[Gate]]

        init(connections: Int, rounds: Int) throws {
            let gates = { try (0..<connections).map { _ in try (0..<rounds).map { _ in try Gate() } } }
            let (arrived, responses) = (try gates(), try gates())
            (self.arrived, self.responses) = (arrived, responses)
            server = try ScriptedServer { number in
                guard number < connections else { return [.close] }
                return zip(arrived[number], responses[number]).flatMap { arrived, response in
                    [ScriptedServer.Step.receiveHead, .open(arrived), .wait(response), .send(text: ConnectionQueueTests.yes)]
                }
            }
        }

        func openAll() {
            for gate in (arrived + responses).joined() { gate.open() }
        }
    }

    /// Starts a load of a URL of the server.
    private func start(_ request: Request, on loader: Loader) -> (task: LoadTask, delegate: RecordingDelegate) {
        let delegate = RecordingDelegate()
        let task = loader.task(for: request, delegate: delegate)
        task.resume()
        return (task, delegate)
    }

    /// Same as ``start(_:on:)``, but returns when the load waits for a connection.
    private func enqueue(_ request: Request, on loader: Loader) async throws -> (task: LoadTask, delegate: RecordingDelegate) {
        let load = start(request, on: loader)
        while load.task.stallReason == nil {
            try Task.checkCancellation()
            await Task.yield()
        }
        return load
    }

    private static func request(_ server: ScriptedServer, _ timeouts: Timeouts = Timeouts()) throws -> Request {
        var request = try Request(server.url())
        request.timeouts = timeouts
        return request
    }

    /// The server responds to each load within 6 seconds of its request. The last load waits for nearly two minutes
    /// before that.
    @Test func timeInTheQueueIsNotIdleTime() async throws {
        let rounds = try RoundServer(connections: 2, rounds: 20)
        let loader = loader(Timeouts(idle: .seconds(10))) { $0.perHost = 2 }
        let ended = Observed(0)
        let delegates = (0..<40).map { _ in
            RecordingDelegate { event, _ in
                switch event {
                case .finished: ended.update { $0 += 1 }
                case .failed:
                    // Do not wait for the remaining rounds.
                    rounds.openAll()
                    ended.update { $0 += 40 }
                default: break
                }
                return .keepGoing
            }
        }
        for delegate in delegates { loader.task(for: try Request(rounds.server.url()), delegate: delegate).resume() }
        for round in 0..<20 {
            for gates in rounds.arrived { try await gates[round].wait() }
            // If the end of a load were not delivered yet, the load would count as idle in the next rounds.
            try await ended.wait { $0 >= 2 * round }
            clock.advance(by: .seconds(6))
            for gates in rounds.responses { gates[round].open() }
        }
        for delegate in delegates { await delegate.ended() }
        #expect(delegates.allSatisfy { $0.error == nil && $0.text == "yes" }, "\(delegates.compactMap { $0.error })")
        #expect(rounds.server.connections.count == 2)
        #expect(clock.pendingTimerCount == 0)
    }

    // MARK: The queue's separate limit

    @Test func queueTimeoutErrorNamesTheLimitAndTheRemedy() async throws {
        let rounds = try RoundServer(connections: 1, rounds: 2)
        let loader = loader(Timeouts()) {
            $0.perHost = 1
            $0.queueTimeout = .seconds(30)
        }
        let first = start(try Self.request(rounds.server), on: loader)
        try await rounds.arrived[0][0].wait()
        let second = try await enqueue(try Self.request(rounds.server), on: loader)
        clock.advance(by: .seconds(29))
        #expect(second.task.state == .running)
        clock.advance(by: .seconds(1))
        await second.delegate.ended()
        #expect(second.delegate.error?.code == .timedOut)
        #expect(
            second.delegate.error?.message == "no connection to http://127.0.0.1:\(rounds.server.port) became free within 30.0 seconds: "
                + "all allowed connections are in use or being opened (1 per origin, 512 in total); raise ConnectionLimits.queueTimeout, "
                + "ConnectionLimits.perHost or ConnectionLimits.total, or load fewer at a time")
        // The connection is unchanged.
        let third = try await enqueue(try Self.request(rounds.server), on: loader)
        rounds.openAll()
        for load in [first, third] {
            await load.delegate.ended()
            #expect(load.delegate.text == "yes")
        }
        #expect(rounds.server.connections.count == 1)
        #expect(clock.pendingTimerCount == 0)
    }

    @Test func queueTimeoutAppliesToTheTotalLimit() async throws {
        let (busy, other) = (try RoundServer(connections: 1, rounds: 1), try RoundServer(connections: 1, rounds: 1))
        let loader = loader(Timeouts()) {
            $0.total = 1
            $0.queueTimeout = .seconds(30)
        }
        let first = start(try Self.request(busy.server), on: loader)
        try await busy.arrived[0][0].wait()
        let second = try await enqueue(try Self.request(other.server), on: loader)
        clock.advance(by: .seconds(30))
        await second.delegate.ended()
        #expect(second.delegate.error?.message.contains("64 per origin, 1 in total") == true)
        busy.openAll()
        await first.delegate.ended()
        #expect(first.delegate.text == "yes")
    }

    @Test func withoutAQueueTimeoutALoadWaitsWithoutLimit() async throws {
        let rounds = try RoundServer(connections: 1, rounds: 2)
        let loader = loader(Timeouts()) {
            $0.perHost = 1
            $0.queueTimeout = nil
        }
        let first = start(try Self.request(rounds.server), on: loader)
        try await rounds.arrived[0][0].wait()
        let second = try await enqueue(try Self.request(rounds.server, Timeouts(idle: .seconds(1))), on: loader)
        clock.advance(by: .seconds(86_400))
        #expect(second.task.state == .running)
        rounds.openAll()
        for load in [first, second] {
            await load.delegate.ended()
            #expect(load.delegate.text == "yes")
        }
    }

    @Test func totalTimeoutAppliesInTheQueueAndNamesTheWait() async throws {
        let rounds = try RoundServer(connections: 1, rounds: 1)
        let loader = loader(Timeouts()) { $0.perHost = 1 }
        let first = start(try Self.request(rounds.server), on: loader)
        try await rounds.arrived[0][0].wait()
        let second = try await enqueue(try Self.request(rounds.server, Timeouts(total: .seconds(20))), on: loader)
        clock.advance(by: .seconds(20))
        await second.delegate.ended()
        #expect(second.delegate.error?.code == .timedOut)
        let expected = "took longer than its limit of 20.0 seconds: waiting for a connection to http://127.0.0.1:\(rounds.server.port): "
        #expect(second.delegate.error?.message.contains(expected) == true, "\(second.delegate.error?.message ?? "")")
        #expect(second.delegate.error?.remedy == .openMoreConnections(orWait: false))
        rounds.openAll()
        await first.delegate.ended()
    }

    @Test func idleTimeStartsAfterTheQueue() async throws {
        let rounds = try RoundServer(connections: 1, rounds: 2)
        let loader = loader(Timeouts()) { $0.perHost = 1 }
        let first = start(try Self.request(rounds.server), on: loader)
        try await rounds.arrived[0][0].wait()
        let second = try await enqueue(try Self.request(rounds.server, Timeouts(idle: .seconds(10))), on: loader)
        clock.advance(by: .seconds(99))
        rounds.responses[0][0].open()
        try await rounds.arrived[0][1].wait()
        // The server can receive the request before the load has recorded that it was sent. The idle time starts with
        // that record.
        while second.task.metrics.timings.last?.sending == nil {
            try Task.checkCancellation()
            await Task.yield()
        }
        clock.advance(by: .seconds(9))
        #expect(second.task.state == .running && second.task.stallReason == nil)
        clock.advance(by: .seconds(1))
        await second.delegate.ended()
        #expect(second.delegate.error?.message.contains("nothing came from") == true, "\(second.delegate.events)")
        await first.delegate.ended()
        #expect(first.delegate.text == "yes")
    }

    @Test func loadCancelledInTheQueueLeavesNoTimer() async throws {
        let rounds = try RoundServer(connections: 1, rounds: 2)
        let loader = loader(Timeouts(idle: .seconds(10))) { $0.perHost = 1 }
        let first = start(try Self.request(rounds.server), on: loader)
        try await rounds.arrived[0][0].wait()
        let second = try await enqueue(try Self.request(rounds.server), on: loader)
        second.task.cancel()
        await second.delegate.ended()
        #expect(second.delegate.error?.code == .cancelled && clock.pendingTimerCount == 1)
        rounds.openAll()
        await first.delegate.ended()
        #expect(clock.pendingTimerCount == 0)
    }

    /// A handler that loads an `http:` URL with a nested load, and delivers its response.
    private struct NestingHandler: ProtocolHandler {
        let nestedRequest: Request
        let identifier = "org.portolan.test.around"
        let schemes = SchemeSet.only(["around"])

        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            client.makeNestedLoad(for: nestedRequest, client: client)
        }
    }

    @Test func queueTimeOfANestedLoadIsNotIdleTimeOfItsParent() async throws {
        let rounds = try RoundServer(connections: 1, rounds: 2)
        var configuration = Loader.Configuration()
        var http = HTTPConfiguration()
        http.proxies = .direct
        http.connectionLimits.perHost = 1
        configuration.handlers = [HTTPHandler(configuration: http), NestingHandler(nestedRequest: try Self.request(rounds.server))]
        configuration.clock = clock
        let loader = Loader(configuration: configuration, registry: ProtocolRegistry())
        let first = start(try Self.request(rounds.server, Timeouts(idle: .seconds(1000))), on: loader)
        try await rounds.arrived[0][0].wait()
        var request = try Request("around:x")
        request.timeouts = Timeouts(idle: .seconds(10))
        let second = start(request, on: loader)
        while !second.task.isQueued {
            try Task.checkCancellation()
            await Task.yield()
        }
        clock.advance(by: .seconds(200))
        #expect(second.task.state == .running)
        rounds.openAll()
        for load in [first, second] {
            await load.delegate.ended()
            #expect(load.delegate.text == "yes", "\(load.delegate.events)")
        }
        #expect(!second.task.isQueued)
    }

    @Test func queueTimeoutErrorNamesTheStreamLimitOfTheServer() async throws {
        typealias F = ServerFrames
        let arrived = try Gate()
        let server = try HostileServer(
            greeting: { _ in F.settings([(3, 1)]) },
            whole: { arrival in
                if arrival.number == 0 { return F.headers([(":status", "204")], stream: arrival.stream, ends: true) }
                arrived.open()
                return []
            })
        let loader = loader(Timeouts()) { $0.queueTimeout = .seconds(30) }
        await start(try server.request(), on: loader).delegate.ended()
        let busy = start(try server.request(), on: loader)
        try await arrived.wait()
        let second = try await enqueue(try server.request(), on: loader)
        clock.advance(by: .seconds(30))
        await second.delegate.ended()
        #expect(second.delegate.error?.code == .timedOut)
        #expect(second.delegate.error?.message.contains("the server allows no more requests at once") == true)
        busy.task.cancel()
    }
}
