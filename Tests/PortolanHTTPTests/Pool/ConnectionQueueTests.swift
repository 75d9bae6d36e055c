// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import ServerSupport
import Testing

@testable import PortolanCore
@testable import PortolanHTTP
@testable import PortolanTransport

/// Loads that wait for a connection. The test advances the clock of the loader.
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
    private final class GatedServer: Sendable {
        let server: ScriptedServer
        /// The gate of each request, by connection and number of the request. The server opens it when the request
        /// arrives.
        let requestArrived: [[Gate]]
        /// The gate of each response. The server sends the response when the test opens the gate.
        let mayRespond: [[Gate]]

        init(connections: Int, rounds: Int) throws {
            let gates = { try (0..<connections).map { _ in try (0..<rounds).map { _ in try Gate() } } }
            let (requestArrived, mayRespond) = (try gates(), try gates())
            (self.requestArrived, self.mayRespond) = (requestArrived, mayRespond)
            server = try ScriptedServer { number in
                guard number < connections else { return [.close] }
                return zip(requestArrived[number], mayRespond[number]).flatMap { requestArrived, mayRespond in
                    [ScriptedServer.Step.receiveHead, .open(requestArrived), .wait(mayRespond), .send(text: ConnectionQueueTests.yes)]
                }
            }
        }

        /// Opens all gates, so that the server responds to all further requests immediately.
        func openAll() {
            for gate in (requestArrived + mayRespond).joined() { gate.open() }
        }
    }

    /// Starts a task whose delegate records the events.
    private func start(_ request: Request, on loader: Loader) -> (task: LoadTask, delegate: RecordingDelegate) {
        let delegate = RecordingDelegate()
        let task = loader.task(for: request, delegate: delegate)
        task.resume()
        return (task, delegate)
    }

    /// Starts a task, and returns when it waits for a connection.
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

    /// The server responds 6 seconds after each request, so no load is idle for 10 seconds. The last load waits in the
    /// queue for nearly two minutes.
    @Test func timeInTheQueueIsNotIdleTime() async throws {
        let gatedServer = try GatedServer(connections: 2, rounds: 20)
        let loader = loader(Timeouts(idle: .seconds(10))) { $0.perHost = 2 }
        let endCount = Observed(0)
        let delegates = (0..<40).map { _ in
            RecordingDelegate { event, _ in
                switch event {
                case .finished: endCount.update { $0 += 1 }
                case .failed:
                    // Do not wait for the remaining rounds.
                    gatedServer.openAll()
                    endCount.update { $0 += 40 }
                default: break
                }
                return .keepGoing
            }
        }
        let tasks = try delegates.map { loader.task(for: try Request(gatedServer.server.url()), delegate: $0) }
        for task in tasks { task.resume() }
        // A load that is not in the queue yet would be idle when the clock advances.
        while tasks.count(where: { $0.stallReason == nil }) > 2 {
            try Task.checkCancellation()
            await Task.yield()
        }
        for round in 0..<20 {
            for gates in gatedServer.requestArrived { try await gates[round].wait() }
            // A load whose end is not delivered yet would be idle when the clock advances.
            try await endCount.wait { $0 >= 2 * round }
            clock.advance(by: .seconds(6))
            for gates in gatedServer.mayRespond { gates[round].open() }
        }
        for delegate in delegates { await delegate.ended() }
        #expect(delegates.allSatisfy { $0.error == nil && $0.text == "yes" }, "\(delegates.compactMap { $0.error })")
        #expect(gatedServer.server.connections.count == 2)
        #expect(clock.pendingTimerCount == 0)
    }

    // MARK: Time limits in the queue

    @Test func queueTimeoutErrorNamesTheLimitAndTheRemedy() async throws {
        let gatedServer = try GatedServer(connections: 1, rounds: 2)
        let loader = loader(Timeouts()) {
            $0.perHost = 1
            $0.queueTimeout = .seconds(30)
        }
        let first = start(try Self.request(gatedServer.server), on: loader)
        try await gatedServer.requestArrived[0][0].wait()
        let second = try await enqueue(try Self.request(gatedServer.server), on: loader)
        clock.advance(by: .seconds(29))
        #expect(second.task.state == .running)
        clock.advance(by: .seconds(1))
        await second.delegate.ended()
        #expect(second.delegate.error?.code == .timedOut)
        #expect(
            second.delegate.error?.message
                == "no connection to http://127.0.0.1:\(gatedServer.server.port) became free within 30.0 seconds: "
                + "all allowed connections are in use or being opened (1 per origin, 512 in total); raise ConnectionLimits.queueTimeout, "
                + "ConnectionLimits.perHost or ConnectionLimits.total, or load fewer at a time")
        // The time-out has not closed the connection. A third load can use it.
        let third = try await enqueue(try Self.request(gatedServer.server), on: loader)
        gatedServer.openAll()
        for load in [first, third] {
            await load.delegate.ended()
            #expect(load.delegate.text == "yes")
        }
        #expect(gatedServer.server.connections.count == 1)
        #expect(clock.pendingTimerCount == 0)
    }

    @Test func queueTimeoutAppliesToTheTotalLimit() async throws {
        let (busyServer, otherServer) = (try GatedServer(connections: 1, rounds: 1), try GatedServer(connections: 1, rounds: 1))
        let loader = loader(Timeouts()) {
            $0.total = 1
            $0.queueTimeout = .seconds(30)
        }
        let first = start(try Self.request(busyServer.server), on: loader)
        try await busyServer.requestArrived[0][0].wait()
        let second = try await enqueue(try Self.request(otherServer.server), on: loader)
        clock.advance(by: .seconds(30))
        await second.delegate.ended()
        #expect(second.delegate.error?.message.contains("64 per origin, 1 in total") == true)
        busyServer.openAll()
        await first.delegate.ended()
        #expect(first.delegate.text == "yes")
    }

    @Test func withoutAQueueTimeoutALoadWaitsWithoutLimit() async throws {
        let gatedServer = try GatedServer(connections: 1, rounds: 2)
        let loader = loader(Timeouts()) {
            $0.perHost = 1
            $0.queueTimeout = nil
        }
        let first = start(try Self.request(gatedServer.server), on: loader)
        try await gatedServer.requestArrived[0][0].wait()
        let second = try await enqueue(try Self.request(gatedServer.server, Timeouts(idle: .seconds(1))), on: loader)
        clock.advance(by: .seconds(86_400))
        #expect(second.task.state == .running)
        gatedServer.openAll()
        for load in [first, second] {
            await load.delegate.ended()
            #expect(load.delegate.text == "yes")
        }
    }

    @Test func totalTimeoutAppliesInTheQueueAndNamesTheWait() async throws {
        let gatedServer = try GatedServer(connections: 1, rounds: 1)
        let loader = loader(Timeouts()) { $0.perHost = 1 }
        let first = start(try Self.request(gatedServer.server), on: loader)
        try await gatedServer.requestArrived[0][0].wait()
        let second = try await enqueue(try Self.request(gatedServer.server, Timeouts(total: .seconds(20))), on: loader)
        clock.advance(by: .seconds(20))
        await second.delegate.ended()
        #expect(second.delegate.error?.code == .timedOut)
        let expected =
            "took longer than its limit of 20.0 seconds: waiting for a connection to http://127.0.0.1:\(gatedServer.server.port): "
        #expect(second.delegate.error?.message.contains(expected) == true, "\(second.delegate.error?.message ?? "")")
        #expect(second.delegate.error?.remedy == .openMoreConnections(orWait: false))
        gatedServer.openAll()
        await first.delegate.ended()
    }

    @Test func idleTimeStartsAfterTheQueue() async throws {
        let gatedServer = try GatedServer(connections: 1, rounds: 2)
        let loader = loader(Timeouts()) { $0.perHost = 1 }
        let first = start(try Self.request(gatedServer.server), on: loader)
        try await gatedServer.requestArrived[0][0].wait()
        let second = try await enqueue(try Self.request(gatedServer.server, Timeouts(idle: .seconds(10))), on: loader)
        clock.advance(by: .seconds(99))
        gatedServer.mayRespond[0][0].open()
        try await gatedServer.requestArrived[0][1].wait()
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
        let gatedServer = try GatedServer(connections: 1, rounds: 2)
        let loader = loader(Timeouts(idle: .seconds(10))) { $0.perHost = 1 }
        let first = start(try Self.request(gatedServer.server), on: loader)
        try await gatedServer.requestArrived[0][0].wait()
        let second = try await enqueue(try Self.request(gatedServer.server), on: loader)
        second.task.cancel()
        await second.delegate.ended()
        #expect(second.delegate.error?.code == .cancelled && clock.pendingTimerCount == 1)
        gatedServer.openAll()
        await first.delegate.ended()
        #expect(clock.pendingTimerCount == 0)
    }

    /// A handler for `around:` URLs. It loads an `http:` URL with a nested load, whose events go to its own client.
    private struct NestingHandler: ProtocolHandler {
        let nestedRequest: Request
        let identifier = "org.portolan.test.around"
        let schemes = SchemeSet.only(["around"])

        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            client.makeNestedLoad(for: nestedRequest, client: client)
        }
    }

    @Test func queueTimeOfANestedLoadIsNotIdleTimeOfItsParent() async throws {
        let gatedServer = try GatedServer(connections: 1, rounds: 2)
        var configuration = Loader.Configuration()
        var http = HTTPConfiguration()
        http.proxies = .direct
        http.connectionLimits.perHost = 1
        configuration.handlers = [HTTPHandler(configuration: http), NestingHandler(nestedRequest: try Self.request(gatedServer.server))]
        configuration.clock = clock
        let loader = Loader(configuration: configuration, registry: ProtocolRegistry())
        let first = start(try Self.request(gatedServer.server, Timeouts(idle: .seconds(1000))), on: loader)
        try await gatedServer.requestArrived[0][0].wait()
        var request = try Request("around:x")
        request.timeouts = Timeouts(idle: .seconds(10))
        let second = start(request, on: loader)
        while !second.task.isQueued {
            try Task.checkCancellation()
            await Task.yield()
        }
        clock.advance(by: .seconds(200))
        #expect(second.task.state == .running)
        gatedServer.openAll()
        for load in [first, second] {
            await load.delegate.ended()
            #expect(load.delegate.text == "yes", "\(load.delegate.events)")
        }
        #expect(!second.task.isQueued)
    }

    @Test func queueTimeoutErrorNamesTheStreamLimitOfTheServer() async throws {
        typealias Frames = ServerFrames
        let arrived = try Gate()
        let server = try HostileServer(
            greeting: { _ in Frames.settings([(3, 1)]) },
            afterRequest: { received in
                if received.number == 0 { return Frames.headers([(":status", "204")], stream: received.stream, endsStream: true) }
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
