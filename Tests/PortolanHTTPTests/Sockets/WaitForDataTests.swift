// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import PortolanCore
import PortolanTestSupport
import ServerSupport
import Synchronization
import TestThreads
import Testing

@testable import PortolanHTTP

/// `waitForData(for:)`: the calling thread waits for its load, and handles the events of the load's socket.
@Suite("Waiting for data", .timeLimit(.minutes(10)))
struct WaitForDataTests {
    private static let yes = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"
    private static let respondsToEachRequest: [ScriptedServer.Step] = [.forever([.receiveHead, .send(text: yes)])]

    /// The text of the body. A separate thread calls `waitForData(for:)`.
    private static func text(
        _ loader: Loader, _ url: String, _ method: HTTPRequest.Method = .get, delegate: (any LoadDelegate)? = nil
    ) async throws -> String {
        try await text(loader, Request(url, method: method), delegate: delegate)
    }

    private static func text(_ loader: Loader, _ request: Request, delegate: (any LoadDelegate)? = nil) async throws -> String {
        try await inOwnThread { String(decoding: try loader.waitForData(for: request, delegate: delegate).0, as: UTF8.self) }
    }

    /// The code of the load error that `operation` throws; `nil` if it throws none.
    private static func code(_ operation: () async throws -> Void) async -> LoadError.Code? {
        do { try await operation() } catch { return (error as? LoadError)?.code }
        return nil
    }

    // MARK: Deliveries

    @Test func connectionIsReused() async throws {
        let server = try ScriptedServer(Self.respondsToEachRequest)
        let loader = Loader.http()
        for _ in 0..<20 { #expect(try await Self.text(loader, server.url()) == "yes") }
        #expect(server.connections.count == 1)
    }

    @Test func bodyThatEndsWithTheConnectionIsComplete() async throws {
        let server = try ScriptedServer([.receiveHead, .send(text: "HTTP/1.1 200 OK\r\n\r\nall of it"), .close])
        #expect(try await Self.text(.http(), server.url()) == "all of it")
    }

    @Test func aRedirectIsFollowedToAnotherPortAndBack() async throws {
        let last = try ScriptedServer(Self.respondsToEachRequest)
        let next = try ScriptedServer([.forever([.receiveHead, .send(text: Self.redirect(to: last.url()))])])
        let first = try ScriptedServer([.forever([.receiveHead, .send(text: Self.redirect(to: next.url()))])])
        let loader = Loader.http { $0.threadCount = nil }
        for _ in 0..<20 { #expect(try await Self.text(loader, first.url()) == "yes") }
        #expect(first.connections.count == 1 && next.connections.count == 1 && last.connections.count == 1)
    }

    private static func redirect(to url: String) -> String { "HTTP/1.1 302 Found\r\nLocation: \(url)\r\nContent-Length: 0\r\n\r\n" }

    @Test func aChallengeIsAnswered() async throws {
        let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 2\r\n\r\nno"
        let server = try ScriptedServer([.forever([.receiveHead, .send(text: refusal), .receiveHead, .send(text: Self.yes)])])
        let loader = Loader.http()
        for _ in 0..<5 {
            #expect(try await Self.text(loader, server.url(), delegate: AnsweringDelegate(passwords: "secret")) == "yes")
        }
    }

    @Test func aChallengeIsAnsweredByAnotherThreadLater() async throws {
        let refusal = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\nContent-Length: 2\r\n\r\nno"
        let server = try ScriptedServer([.forever([.receiveHead, .send(text: refusal), .receiveHead, .send(text: Self.yes)])])
        let delegate = RecordingDelegate(onChallenge: { challenge in
            Task.detached { challenge.answer(.use(.password(user: "user", password: "secret"))) }
        })
        let loader = Loader.http()
        for _ in 0..<5 { #expect(try await Self.text(loader, server.url(), delegate: delegate) == "yes") }
    }

    /// Another thread provides the pieces of the body while the thread of the load sleeps. The server reads the pieces
    /// late.
    ///
    /// - Parameter threshold: bodies of at least this number of bytes wait for a 100 response, which the server does
    ///   not send.
    @Test(arguments: [nil, 1]) func aStreamedBodyIsSentWhileItsThreadWaits(_ threshold: Int64?) async throws {
        let (requested, mayContinue) = (try Gate(), try Gate())
        let size = 8 << 20
        let server = try ScriptedServer(
            [
                .receiveHead, .send(text: Self.yes), .receiveHead, .open(requested), .wait(mayContinue), .receive(size),
                .send(text: Self.yes),
            ])
        let loader = Loader.http {
            $0.expectContinue.bodySizeThreshold = threshold
            $0.expectContinue.timeout = .milliseconds(20)
        }
        #expect(try await Self.text(loader, server.url()) == "yes")
        let (pieces, source) = AsyncStream<[UInt8]>.makeStream()
        var request = try Request(server.url(), method: .post)
        request.body = .stream(pieces, length: Int64(size))
        let load = Task { [request] in try await Self.text(loader, request) }
        try await requested.wait()
        for _ in 0..<size >> 20 { source.yield([UInt8](repeating: 7, count: 1 << 20)) }
        source.finish()
        mayContinue.open()
        #expect(try await load.value == "yes")
    }

    // MARK: Waits that end early

    @Test func aLoadIsCancelledByAnotherThread() async throws {
        let server = try ScriptedServer([.receiveHead, .send(text: Self.yes), .receiveHead, .stall])
        let loader = Loader.http()
        #expect(try await Self.text(loader, server.url()) == "yes")
        let delegate = RecordingDelegate { event, task in
            if event == .step(.requestSent) { Task.detached { task.cancel() } }
            return .keepGoing
        }
        #expect(await Self.code { _ = try await Self.text(loader, server.url(), delegate: delegate) } == .cancelled)
        try await server.waitUntilClosed()
    }

    @Test func delegateCallsMayCancelTheLoad() async throws {
        let server = try ScriptedServer(Self.respondsToEachRequest)
        for step in [LoadStep.connectionReused, .requestSent, .firstByte] {
            let loader = Loader.http()
            #expect(try await Self.text(loader, server.url()) == "yes")
            let delegate = RecordingDelegate { event, task in
                if event == .step(step) { task.cancel() }
                return .keepGoing
            }
            #expect(await Self.code { _ = try await Self.text(loader, server.url(), delegate: delegate) } == .cancelled)
            #expect(try await Self.text(loader, server.url()) == "yes")
        }
    }

    @Test func totalTimeoutEndsTheWait() async throws {
        let server = try ScriptedServer([.receiveHead, .send(text: Self.yes), .receiveHead, .stall])
        let loader = Loader.http()
        #expect(try await Self.text(loader, server.url()) == "yes")
        var request = try Request(server.url())
        request.timeouts.total = .milliseconds(50)
        #expect(await Self.code { _ = try await Self.text(loader, request) } == .timedOut)
    }

    @Test func suspendedLoadContinuesAfterAResume() async throws {
        let server = try ScriptedServer(Self.respondsToEachRequest)
        let loader = Loader.http()
        for _ in 0..<10 {
            let delegate = RecordingDelegate { event, task in
                if event == .step(.requestSent) {
                    task.suspend()
                    Task.detached { task.resume() }
                }
                return .keepGoing
            }
            #expect(try await Self.text(loader, server.url(), delegate: delegate) == "yes")
        }
    }

    /// The waiting thread would have to deliver the bytes of the second load itself.
    @Test func waitInsideADelegateCallFailsAtOnce() async throws {
        let server = try ScriptedServer(Self.respondsToEachRequest)
        let loader = Loader.http()
        let nestedCode = Mutex<LoadError.Code?>(nil)
        let delegate = RecordingDelegate { event, task in
            guard event == .step(.firstByte) else { return .keepGoing }
            do throws(LoadError) {
                _ = try loader.waitForData(for: task.originalRequest)
            } catch {
                nestedCode.withLock { $0 = error.code }
            }
            return .keepGoing
        }
        var request = try Request(server.url())
        request.timeouts.total = .seconds(10)
        #expect(try await Self.text(loader, request, delegate: delegate) == "yes")
        #expect(nestedCode.withLock { $0 } == .noResources)
    }

    /// The thread of an event loop must not wait. Other threads can wait, such as the queue of completion handlers.
    @Test func aCompletionHandlerMayWaitForAnotherLoadUnlessItIsImmediate() async throws {
        let server = try ScriptedServer(Self.respondsToEachRequest)
        let loader = Loader.http()
        let request = try Request(server.url())
        for (queue, expectedCode) in [(DeliveryQueue.background, LoadError.Code?.none), (.immediate, .noResources)] {
            let code = await withCheckedContinuation { continuation in
                _ = loader.load(request, on: queue) { _ in
                    do throws(LoadError) {
                        _ = try loader.waitForData(for: request)
                        continuation.resume(returning: LoadError.Code?.none)
                    } catch {
                        continuation.resume(returning: error.code)
                    }
                }
            }
            #expect(code == expectedCode)
        }
    }

    @Test(arguments: [false, true]) func aWaitOnTheLoopOfASharedOrSecureConnectionFailsAtOnce(_ isSecure: Bool) async throws {
        let http2Server = try HostileServer(afterRequest: { received in
            ServerFrames.headers([(":status", "200")], stream: received.stream)
                + ServerFrames.data("yes", stream: received.stream, endsStream: true)
        })
        let secureServer = try await SecureServer("good")
        let loader = isSecure ? try SecureLoaderFixture().loader : .http()
        let request = isSecure ? try Request(secureServer.url) : try http2Server.request()
        let nestedCodes = Mutex<[LoadError.Code?]>([])
        let delegate = RecordingDelegate { event, _ in
            guard case .response = event else { return .keepGoing }
            do throws(LoadError) {
                _ = try loader.waitForData(for: request)
                nestedCodes.withLock { $0.append(nil) }
            } catch {
                nestedCodes.withLock { $0.append(error.code) }
            }
            return .keepGoing
        }
        loader.task(for: request, delegate: delegate).resume()
        await delegate.ended()
        #expect(delegate.error == nil && nestedCodes.withLock { $0 } == [.noResources])
        try await secureServer.stop()
    }

    // MARK: Connections that end

    @Test(arguments: [HTTPRequest.Method.get, .post]) func idleConnectionThatTheServerClosedIsNotReused(_ method: HTTPRequest.Method)
        async throws
    {
        let server = try ScriptedServer([.receiveHead, .send(text: Self.yes), .close], [.receiveHead, .send(text: Self.yes)])
        let loader = Loader.http()
        #expect(try await Self.text(loader, server.url()) == "yes")
        try #require(!server.connections.isEmpty)
        while server.connections[0].isOpen { await Task.yield() }
        #expect(try await Self.text(loader, server.url(), method) == "yes")
        #expect(server.connections.count == 2)
    }

    @Test func loadFromAServerThatClosesAtOnceIsTriedOnce() async throws {
        let server = try ScriptedServer([.close])
        let loader = Loader.http()
        var request = try Request(server.url())
        request.timeouts.total = .seconds(2)
        for _ in 0..<5 {
            let code = await Self.code { _ = try await Self.text(loader, request) }
            #expect(code == .emptyResponse || code == .connectionLost || code == .cannotConnect)
        }
        #expect(server.connections.count == 5)
    }

    @Test func serverThatSendsBeforeTheRequestIsRefused() async throws {
        let server = try ScriptedServer([.send(text: "220 mail.example.org ESMTP\r\n"), .receiveToEnd])
        var request = try Request(server.url())
        request.timeouts.total = .seconds(2)
        #expect(await Self.code { _ = try await Self.text(.http(), request) } == .badResponse)
        #expect(server.connections.count == 1)
    }

    // MARK: Many loads

    @Test(arguments: [1, 2]) func manyThreadsShareFewConnections(_ perHost: Int) async throws {
        let server = try ScriptedServer(Self.respondsToEachRequest)
        let loader = Loader.http { $0.connectionLimits.perHost = perHost }
        let request = try Request(server.url())
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await inOwnThread {
                        try (0..<100).count { _ in try loader.waitForData(for: request).0.count == 3 }
                    }
                }
            }
            let count = try await group.reduce(0, +)
            #expect(count == 5_000)
        }
        #expect(server.connections.count <= perHost)
    }

    @Test func waitingAndAsyncLoadsShareConnections() async throws {
        let server = try ScriptedServer(Self.respondsToEachRequest)
        let loader = Loader.http { $0.connectionLimits.perHost = 3 }
        let request = try Request(server.url())
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<16 {
                group.addTask {
                    if number % 2 == 0 {
                        return try await inOwnThread { try (0..<100).count { _ in try loader.waitForData(for: request).0.count == 3 } }
                    }
                    var count = 0
                    for _ in 0..<100 where try await loader.data(for: request).0.count == 3 { count += 1 }
                    return count
                }
            }
            let count = try await group.reduce(0, +)
            #expect(count == 1_600)
        }
        #expect(server.connections.count <= 3)
    }

    /// The load is cancelled and the loader is freed before the rest of the response arrives. Nothing else closes the
    /// connection.
    @Test func aConnectionThatBecomesIdleWithoutALoaderIsClosed() async throws {
        let (isCancelled, bodyBegan) = (try Gate(), try Gate())
        let server = try ScriptedServer([
            .receiveHead, .send(text: "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc"), .wait(isCancelled), .send(text: "def"),
            .receiveToEnd,
        ])
        do {
            let loader = Loader.http()
            let task = loader.task(for: try Request(server.url()), delegate: BytesDelegate { bodyBegan.open() })
            task.resume()
            try await bodyBegan.wait()
            task.cancel()
        }
        isCancelled.open()
        try await server.waitUntilClosed()
    }

    /// A delegate that calls a closure for each piece of the body.
    private final class BytesDelegate: LoadDelegate {
        private let onBytes: @Sendable () -> Void
        init(_ onBytes: @escaping @Sendable () -> Void) { self.onBytes = onBytes }

        func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
            onBytes()
            return .keepGoing
        }
        func loadTask(_ task: LoadTask, didEndWith error: LoadError?) {}
    }

    @Test func thousandsOfLoadsLeakNoDescriptor() async throws {
        let server = try ScriptedServer(Self.respondsToEachRequest)
        var loader: Loader? = .http()
        do {
            let current = try #require(loader)
            let request = try Request(server.url())
            let eventDescriptorCount = Descriptors.eventCount
            // 5,000 loads that leak one descriptor in five loads leak 1,000, which is more than other tests open.
            try await inOwnThread { for _ in 0..<5_000 { _ = try current.waitForData(for: request) } }
            // Other tests open an eventfd(2) descriptor for each of their servers, and close it. Leaked descriptors
            // would remain.
            while Descriptors.eventCount >= eventDescriptorCount + 900 {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
        #expect(server.connections.count == 1)
        // The server's socket, its end of one connection, and the client's end.
        let socketCount = Descriptors.count(port: server.port)
        #expect(socketCount == 3)
        loader = nil
        try await server.waitUntilClosed()
        server.close()
        while Descriptors.count(port: server.port) > 0 { await Task.yield() }
    }
}
