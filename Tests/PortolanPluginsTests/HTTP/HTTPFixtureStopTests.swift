// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import ServerSupport
import Synchronization
import TestThreads
import Testing

/// A stop works in each phase of a load over a socket, and a slow server slows its upload.
@Suite(.timeLimit(.minutes(10))) struct HTTPFixtureStopTests {
    /// The phase of a load when the test stops it.
    enum Phase: CaseIterable, Sendable {
        case connecting, sendingBody, awaitingBody, awaitingResponse, afterInterim, afterResponse, receiving, paused, challenged,
            redirecting

        /// Whether the load is in this phase after the event.
        func isReached(by event: RecordingDelegate.Event) -> Bool {
            switch (self, event) {
            case (.sendingBody, .sent), (.awaitingResponse, .step(.requestSent)), (.afterInterim, .interim), (.afterResponse, .response),
                (.receiving, .data), (.paused, .data), (.challenged, .challenge), (.redirecting, .redirect):
                true
            default: false
            }
        }

        var script: [ScriptedServer.Step] {
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
            let bytes = ScriptedServer.Step.send([UInt8](repeating: 0, count: 65536))
            return switch self {
            case .connecting: []
            // The server reads to the end, because the end of the connection arrives only after the unread bytes.
            case .sendingBody: [.receiveToEnd]
            case .awaitingBody, .awaitingResponse: [.receiveHead, .stall]
            case .afterInterim: [.receiveHead, .send(text: "HTTP/1.1 103 Hints\r\n\r\n"), .stall]
            case .afterResponse: [.receiveHead, .send(text: head), .stall]
            // Sends only 64 KiB, because the delegate stores all bytes until the test gets a thread to cancel the task.
            case .receiving: [.receiveHead, .send(text: head), bytes, .stall]
            case .paused: [.receiveHead, .send(text: head), .forever([bytes])]
            case .challenged:
                HTTPTransaction.respond("HTTP/1.1 401 Who\r\nWWW-Authenticate: Basic realm=\"r\"\r\nContent-Length: 0\r\n\r\n") + [.stall]
            case .redirecting: HTTPTransaction.respond("HTTP/1.1 302 There\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n") + [.stall]
            }
        }
    }

    @Test(arguments: Phase.allCases, HTTPHandlerKind.allCases)
    func stopInEachPhaseClosesTheConnection(phase: Phase, handlerKind: HTTPHandlerKind) async throws {
        let harness = try HTTPHarness(handlerKind)
        let server = try ScriptedServer(phase.script)
        let blackHole = try BlackHolePort()
        let phaseReached = try Gate()
        let pendingDecisions = Mutex<[any Sendable]>([])
        let delegate = RecordingDelegate(
            onEvent: { event, _ in
                guard phase.isReached(by: event) else { return .keepGoing }
                phaseReached.open()
                return phase == .paused ? .pause : .keepGoing
            }, onRedirect: { _, decide in pendingDecisions.withLock { $0.append(decide) } },
            onChallenge: { challenge in pendingDecisions.withLock { $0.append(challenge) } })
        let url = phase == .connecting ? "http://127.0.0.1:\(blackHole.port)/" : server.url()
        let task = harness.loader.task(for: try Request(url, method: .put, body: Self.body(for: phase)), delegate: delegate)
        task.resume()
        switch phase {
        case .connecting: break
        case .awaitingBody: try await server.waitForBytes(1)
        default: try await phaseReached.wait()
        }
        task.cancel()
        await delegate.ended()
        // The pending decisions retain their load, and the load retains the delegate.
        pendingDecisions.withLock { $0 = [] }
        #expect(delegate.events.last == .failed(.cancelled))
        let violations = try await harness.violations()
        #expect(violations == [])
        // After a short response, the built-in handler pools the connection for a minute.
        harness.closeIdleConnections()
        if phase != .connecting { try await server.waitUntilClosed() }
        try await inOwnThread { server.close() }
    }

    private static func body(for phase: Phase) -> Body? {
        switch phase {
        case .sendingBody: ZeroBody(128 << 20).body
        case .awaitingBody: HandFedBody().body(length: 10)
        default: nil
        }
    }

    /// Bytes that the sockets can't buffer are not read from the body.
    @Test(arguments: HTTPHandlerKind.allCases) func slowServerSlowsTheUpload(handlerKind: HTTPHandlerKind) async throws {
        let length = 24 << 20
        let server = try ScriptedServer([.receiveHead, .receive(length), .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")])
        let source = ZeroBody(length, receivedCount: { server.connections.first?.received.count ?? 0 })
        let harness = try HTTPHarness(handlerKind)
        let delegate = RecordingDelegate()
        let task = harness.loader.task(for: try Request(server.url(), method: .put, body: source.body), delegate: delegate)
        task.resume()
        await delegate.ended()
        #expect(delegate.events.last == .finished)
        #expect(task.progress.bytesSent == Int64(length) && task.progress.expectedBytesToSend == Int64(length))
        // The kernel's buffers of both sockets hold at most 10 MiB.
        #expect(source.largestLead < 12 << 20)
        #expect(try await harness.violations() == [])
        try await inOwnThread { server.close() }
    }

    /// A body of zeros that records how far its reader is ahead of the receiver.
    private final class ZeroBody: BodyReader {
        private struct State {
            var readCount = 0
            var largestLead = 0
        }

        private let length: Int
        private let receivedCount: @Sendable () -> Int
        private let state = Mutex(State())

        init(_ length: Int, receivedCount: @escaping @Sendable () -> Int = { 0 }) {
            self.length = length
            self.receivedCount = receivedCount
        }

        var body: Body { Body(length: Int64(length), isRewindable: false) { self } }
        var largestLead: Int { state.withLock { $0.largestLead } }

        func read(into buffer: inout OutputRawSpan, whenReady: @escaping @Sendable () -> Void) -> BodyRead {
            let count = state.withLock { min(buffer.freeCapacity, length - $0.readCount) }
            guard count > 0 else { return .end }
            unsafe buffer.append(repeating: 0, count: count, as: UInt8.self)
            let readCount = state.withLock { state in
                state.readCount += count
                return state.readCount
            }
            // Calls `receivedCount()` once per MiB, because each call copies the receiver's bytes.
            if readCount >> 20 != (readCount - count) >> 20 {
                let lead = readCount - receivedCount()
                state.withLock { $0.largestLead = max($0.largestLead, lead) }
            }
            return .bytes
        }

        func close() {}
    }
}
