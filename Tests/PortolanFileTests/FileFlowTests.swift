// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanFile
import PortolanTestSupport
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(10))) struct FileFlowTests {
    private static let bytes = Patterned.bytes(3_500_000)
    /// A response and four pieces.
    private static let events = 0...4

    private static func harness(threads: Int = 1) throws -> FileHarness {
        let harness = try FileHarness(threads: threads)
        try harness.folder.write(bytes, to: "f")
        return harness
    }

    @Test func pausingAtEveryEventLosesAndRepeatsNothing() async throws {
        let harness = try Self.harness()
        let threads = harness.threads
        let recording = try await harness.load(harness.url(of: "f")) { _, handlerLoad in
            // This event occupies the only thread, so the resume comes after the return of the pause.
            try? threads.run { handlerLoad.resume() }
            return .pause
        }
        #expect(recording.hasBytes(Self.bytes))
        #expect(recording.pieces.count == Self.events.last)
        #expect(recording.finishes == 1)
        #expect(recording.violations.isEmpty)
        try await harness.waitUntilIdle()
        #expect(harness.folder.openDescriptors == 0)
    }

    @Test func pauseAtTheResponseToHeadHoldsBackTheFinish() async throws {
        let harness = try Self.harness()
        let threads = harness.threads
        let recording = try await harness.load(harness.url(of: "f"), method: .head) { _, handlerLoad in
            try? threads.run { handlerLoad.resume() }
            return .pause
        }
        #expect(recording.finishes == 1)
        #expect(recording.violations.isEmpty)
    }

    @Test(.timeLimit(.minutes(10))) func resumeCanComeBeforeThePauseReturns() async throws {
        let harness = try Self.harness()
        let load = Mutex<(any ProtocolLoad)?>(nil)
        let client = FileRecordingClient { _ in
            load.withLock { $0 }?.resumeLoading()
            return .pause
        }
        let request = try Request(harness.url(of: "f"))
        let newLoad = harness.handler.makeLoad(for: request, cachedResponse: nil, client: client)
        load.withLock { $0 = newLoad }
        newLoad.startLoading()
        // Not `waitUntilIdle()`, because its job may run before the resumes that the load requests meanwhile.
        while client.recording.ends == 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        load.withLock { $0 = nil }
        #expect(client.recording.hasBytes(Self.bytes))
        #expect(client.recording.ends == 1)
    }

    @Test func pausedLoadBlocksNoThreadAndNoOtherLoad() async throws {
        let harness = try Self.harness(threads: 1)
        let url = harness.url(of: "f")
        let request = try Request(url)
        let (ends, continuation) = AsyncStream.makeStream(of: FileRecordingClient.Recording.self)
        let paused = Mutex(0)
        let first = harness.prepare(
            request,
            onEvent: { event, _ in
                guard event == 2 else { return .keepGoing }
                paused.withLock { $0 += 1 }
                return .pause
            }, onEnd: { continuation.yield($0) })
        first.start()
        try await harness.waitUntilIdle()
        #expect(paused.withLock { $0 } == 1)
        // The second load uses the only thread while the first load is paused in its body.
        #expect(try await harness.load(url).hasBytes(Self.bytes))
        #expect(harness.folder.openDescriptors == 1)
        first.handlerLoad?.resume()
        var iterator = ends.makeAsyncIterator()
        #expect(await iterator.next()?.hasBytes(Self.bytes) == true)
    }

    @Test(arguments: events) func noEventFollowsAStop(_ last: Int) async throws {
        let harness = try Self.harness()
        let recording = try await harness.load(harness.url(of: "f")) { event, _ in event == last ? .stopped : .keepGoing }
        try await harness.waitUntilIdle()
        #expect(recording.pieces.count == last)
        #expect(recording.ends == 0)
        #expect(recording.violations.isEmpty)
        #expect(harness.folder.openDescriptors == 0)
    }

    @Test(arguments: events) func cancelDuringAnyEventFailsOnceAndEndsTheData(_ last: Int) async throws {
        let harness = try Self.harness()
        let recording = try await harness.load(harness.url(of: "f")) { event, handlerLoad in
            if event == last { handlerLoad.end(with: LoadError(.cancelled, message: "enough")) }
            return .keepGoing
        }
        try await harness.waitUntilIdle()
        #expect(recording.pieces.count == last)
        #expect(recording.errors.map(\.code) == [.cancelled])
        #expect(recording.violations.isEmpty)
        #expect(harness.folder.openDescriptors == 0)
    }

    @Test(arguments: events) func stopWhilePausedClosesTheFileImmediately(_ last: Int) async throws {
        let harness = try Self.harness()
        let prepared = harness.prepare(
            try Request(harness.url(of: "f")), onEvent: { event, _ in event == last ? .pause : .keepGoing }, onEnd: { _ in })
        prepared.start()
        try await harness.waitUntilIdle()
        #expect(harness.folder.openDescriptors == 1)
        prepared.handlerLoad?.end(with: LoadError(.cancelled, message: "enough"))
        #expect(harness.folder.openDescriptors == 0)
    }

    @Test func stopBeforeTheStartDeliversNothing() async throws {
        let harness = try Self.harness()
        let client = FileRecordingClient { _ in .keepGoing }
        let load = harness.handler.makeLoad(for: try Request(harness.url(of: "f")), cachedResponse: nil, client: client)
        load.stopLoading()
        load.stopLoading()
        load.startLoading()
        load.resumeLoading()
        try await harness.waitUntilIdle()
        #expect(client.recording.responses.isEmpty)
        #expect(client.recording.ends == 0)
    }

    @Test func resumeWithoutAPauseDoesNothing() async throws {
        let harness = try Self.harness()
        let recording = try await harness.load(harness.url(of: "f")) { _, handlerLoad in
            handlerLoad.resume()
            handlerLoad.resume()
            return .keepGoing
        }
        #expect(recording.hasBytes(Self.bytes))
        #expect(recording.ends == 1)
    }

    @Test func thousandLoadsLeakNoDescriptor() async throws {
        let harness = try FileHarness(threads: 4)
        try harness.folder.write(Patterned.bytes(300_000), to: "f")
        let url = harness.url(of: "f")
        let sums = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<1000 {
                group.addTask { try await harness.load(url) { event, _ in event == index % 3 ? .stopped : .keepGoing }.ends }
            }
            return try await group.reduce(0, +)
        }
        // Two of three loads stop: at the response, and at the only piece.
        #expect(sums == 333)
        // Four jobs that wait for each other occupy all four threads, so no load runs on a thread any more.
        let barrier = Barrier(count: 4)
        for _ in 0..<4 { try harness.threads.run { barrier.arriveAndWait() } }
        await barrier.waitUntilPassed()
        #expect(harness.folder.openDescriptors == 0)
    }

    @Test func nestedLoadIsNotLimitedByTheThreadPool() async throws {
        let harness = try Self.harness(threads: 1)
        let barrier = Barrier(count: 2)
        // This job occupies the only thread until the nested load has ended.
        try harness.threads.run { barrier.arriveAndWait() }
        var request = try Request(harness.url(of: "f"))
        request.nestingDepth = 1
        let nested = request
        let recording = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                harness.prepare(nested, onEnd: { continuation.resume(returning: $0) }).start()
            }
        } onCancel: {
            // The time limit has passed while the load waits for the thread.
            barrier.arrive()
        }
        #expect(recording.hasBytes(Self.bytes))
        barrier.arrive()
    }
}
