// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTP
import PortolanTransport
import PortolanTestSupport
import ServerSupport
import Synchronization
import Testing

/// 10,000 loads over real sockets, 64 at a time. Half of them are cancelled at random moments.
@Suite("Many loads", .timeLimit(.minutes(10))) struct ManyLoadsTests {
    private static let body = [UInt8](repeating: 0x62, count: 3000)
    private static let responses = [
        "HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n",
    ].map { Array($0.utf8) + body }

    /// When a load is cancelled.
    private enum CancelMoment: CaseIterable {
        case never, beforeItsStart, immediately, fromAnotherThread, atConnecting, atTheInterimResponse, atTheResponse, atTheData

        func cancels(at event: RecordingDelegate.Event) -> Bool {
            switch (self, event) {
            case (.atConnecting, .step(.connected)), (.atConnecting, .step(.connectionReused)), (.atTheInterimResponse, .interim),
                (.atTheResponse, .response), (.atTheData, .data):
                true
            default: false
            }
        }
    }

    /// The outcomes of all loads of a test.
    private final class Results: Sendable {
        struct Counts {
            var finishedCount = 0
            var cancelledCount = 0
            /// Descriptions of the loads that ended in an unexpected way.
            var unexpectedEnds: [String] = []
            var tasks: [WeakTask] = []
        }
        let counts = Mutex(Counts())
    }

    private struct WeakTask: Sendable {
        weak let task: LoadTask?

        init(_ task: LoadTask) { self.task = task }
    }

    private static func load(_ loader: Loader, _ request: Request, _ moment: CancelMoment, _ results: Results) async {
        let delegate = RecordingDelegate { event, task in
            if moment.cancels(at: event) { task.cancel() }
            return .keepGoing
        }
        let task = loader.task(for: request, delegate: delegate)
        if moment == .beforeItsStart { task.cancel() }
        task.resume()
        if moment == .immediately { task.cancel() }
        if moment == .fromAnotherThread { Task.detached { task.cancel() } }
        await delegate.ended()
        let endCount = delegate.events.count { if case .finished = $0 { true } else if case .failed = $0 { true } else { false } }
        results.counts.withLock { results in
            results.tasks.append(WeakTask(task))
            switch delegate.error?.code {
            case nil where endCount == 1 && delegate.body == body: results.finishedCount += 1
            case .cancelled? where endCount == 1 && moment != .never: results.cancelledCount += 1
            default:
                results.unexpectedEnds.append(
                    "\(moment): \(endCount) ends, \(delegate.body.count) bytes, \(String(describing: delegate.error))")
            }
        }
    }

    @Test func cancelledLoadsLeakNoConnectionAndNoTask() async throws {
        let server = try ScriptedServer { number in [.forever([.receiveHead, .send(Self.responses[number % Self.responses.count])])] }
        let handler = HTTPHandler(configuration: Self.configuration)
        let registry = ProtocolRegistry()
        let registration = registry.register(handler)
        let loader = Loader(configuration: .init(), registry: registry)
        let request = try Request(server.url())
        let results = Results()
        let (taskCount, loadsPerTask) = (64, 157)
        await withTaskGroup(of: Void.self) { group in
            for seed in 0..<taskCount {
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(seed))
                    for _ in 0..<loadsPerTask {
                        // Half of the loads are never cancelled, because otherwise connections would rarely be reused.
                        let moment =
                            Bool.random(using: &generator) ? .never : CancelMoment.allCases.randomElement(using: &generator) ?? .never
                        await Self.load(loader, request, moment, results)
                    }
                }
            }
        }
        let result = results.counts.withLock { $0 }
        #expect(result.unexpectedEnds.isEmpty, "\(result.unexpectedEnds.prefix(10))")
        #expect(result.finishedCount + result.cancelledCount == taskCount * loadsPerTask && taskCount * loadsPerTask >= 10_000)
        #expect(result.finishedCount > taskCount * loadsPerTask / 3 && result.cancelledCount > taskCount * loadsPerTask / 5)

        // Now no load runs, no connection or descriptor of a connection is open, and nothing retains a task.
        await registry.unregister(registration).finished()
        handler.closeIdleConnections()
        try await server.waitUntilClosed()
        #expect(server.connections.count < taskCount * loadsPerTask / 2, "connections are hardly reused")
        server.close()
        while try OwnSockets(port: server.port).count > 0 { try await Self.pause() }
        while result.tasks.contains(where: { $0.task != nil }) { try await Self.pause() }
    }

    private static var configuration: HTTPConfiguration {
        var http = HTTPConfiguration()
        http.proxies = .direct
        // Fewer connections than loads, so that some loads are cancelled while they wait for a connection.
        http.connectionLimits.perHost = 24
        return http
    }

    /// Lets other tasks run. Throws when the test's time limit cancels the task.
    private static func pause() async throws {
        try Task.checkCancellation()
        await Task.yield()
    }
}
