// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanFile
import PortolanTestSupport
import Synchronization
import Testing

/// Pauses, resumes and stops of file loads.
@Suite(.timeLimit(.minutes(10))) struct FileFlowTests {
    private static let bytes = PatternedBytes.make(3_500_000)
    /// The numbers of the events: the response is 0, and the four pieces are 1 to 4.
    private static let eventNumbers = 0...4

    private static func harness(threadLimit: Int = 1) throws -> FileHarness {
        let harness = try FileHarness(threadLimit: threadLimit)
        try harness.folder.write(bytes, to: "f")
        return harness
    }

    @Test func pausesAtEachEventLoseAndRepeatNoBytes() async throws {
        let harness = try Self.harness()
        let threads = harness.threads
        let recording = try await harness.load(harness.url(of: "f")) { _, handlerLoad in
            // The only thread runs this closure, so that the resume runs after the pause was returned.
            try? threads.run { handlerLoad.resume() }
            return .pause
        }
        #expect(recording.hasBytes(Self.bytes))
        #expect(recording.pieceSizes.count == Self.eventNumbers.last)
        #expect(recording.finishCount == 1)
        #expect(recording.violations.isEmpty)
        try await harness.waitUntilIdle()
        #expect(harness.folder.openDescriptorCount == 0)
    }

    @Test func pauseAtTheResponseToHEADDelaysTheFinish() async throws {
        let harness = try Self.harness()
        let threads = harness.threads
        let recording = try await harness.load(harness.url(of: "f"), method: .head) { _, handlerLoad in
            try? threads.run { handlerLoad.resume() }
            return .pause
        }
        #expect(recording.finishCount == 1)
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
        // `waitUntilIdle()` could return before the jobs of the resumes, which the load queues in the meantime.
        while client.recording.endCount == 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        load.withLock { $0 = nil }
        #expect(client.recording.hasBytes(Self.bytes))
        #expect(client.recording.endCount == 1)
    }

    @Test func pausedLoadBlocksNoThreadAndNoOtherLoad() async throws {
        let harness = try Self.harness(threadLimit: 1)
        let url = harness.url(of: "f")
        let request = try Request(url)
        let (ends, continuation) = AsyncStream.makeStream(of: FileRecordingClient.Recording.self)
        let pauseCount = Mutex(0)
        let firstLoad = harness.prepare(
            request,
            onEvent: { event, _ in
                guard event == 2 else { return .keepGoing }
                pauseCount.withLock { $0 += 1 }
                return .pause
            }, onEnd: { continuation.yield($0) })
        firstLoad.start()
        try await harness.waitUntilIdle()
        #expect(pauseCount.withLock { $0 } == 1)
        // The second load uses the only thread while the first load is paused in its body.
        #expect(try await harness.load(url).hasBytes(Self.bytes))
        #expect(harness.folder.openDescriptorCount == 1)
        firstLoad.handlerLoad?.resume()
        var iterator = ends.makeAsyncIterator()
        #expect(await iterator.next()?.hasBytes(Self.bytes) == true)
    }

    @Test(arguments: eventNumbers) func noEventFollowsAStop(_ lastEvent: Int) async throws {
        let harness = try Self.harness()
        let recording = try await harness.load(harness.url(of: "f")) { event, _ in event == lastEvent ? .stopped : .keepGoing }
        try await harness.waitUntilIdle()
        #expect(recording.pieceSizes.count == lastEvent)
        #expect(recording.endCount == 0)
        #expect(recording.violations.isEmpty)
        #expect(harness.folder.openDescriptorCount == 0)
    }

    @Test(arguments: eventNumbers) func cancelDuringAnEventFailsTheLoadOnceAndEndsTheData(_ lastEvent: Int) async throws {
        let harness = try Self.harness()
        let recording = try await harness.load(harness.url(of: "f")) { event, handlerLoad in
            if event == lastEvent { handlerLoad.end(with: LoadError(.cancelled, message: "enough")) }
            return .keepGoing
        }
        try await harness.waitUntilIdle()
        #expect(recording.pieceSizes.count == lastEvent)
        #expect(recording.errors.map(\.code) == [.cancelled])
        #expect(recording.violations.isEmpty)
        #expect(harness.folder.openDescriptorCount == 0)
    }

    @Test(arguments: eventNumbers) func stopWhilePausedClosesTheFileImmediately(_ lastEvent: Int) async throws {
        let harness = try Self.harness()
        let prepared = harness.prepare(
            try Request(harness.url(of: "f")), onEvent: { event, _ in event == lastEvent ? .pause : .keepGoing }, onEnd: { _ in })
        prepared.start()
        try await harness.waitUntilIdle()
        #expect(harness.folder.openDescriptorCount == 1)
        prepared.handlerLoad?.end(with: LoadError(.cancelled, message: "enough"))
        #expect(harness.folder.openDescriptorCount == 0)
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
        #expect(client.recording.endCount == 0)
    }

    @Test func resumeWithoutAPauseDoesNothing() async throws {
        let harness = try Self.harness()
        let recording = try await harness.load(harness.url(of: "f")) { _, handlerLoad in
            handlerLoad.resume()
            handlerLoad.resume()
            return .keepGoing
        }
        #expect(recording.hasBytes(Self.bytes))
        #expect(recording.endCount == 1)
    }

    @Test func thousandLoadsLeakNoDescriptor() async throws {
        let harness = try FileHarness(threadLimit: 4)
        try harness.folder.write(PatternedBytes.make(300_000), to: "f")
        let url = harness.url(of: "f")
        let endCount = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<1000 {
                group.addTask { try await harness.load(url) { event, _ in event == index % 3 ? .stopped : .keepGoing }.endCount }
            }
            return try await group.reduce(0, +)
        }
        // Of three loads, one is stopped at the response, one at the only piece, and one finishes.
        #expect(endCount == 333)
        // When four jobs that wait for each other occupy all four threads, no load is running.
        let barrier = Barrier(count: 4)
        for _ in 0..<4 { try harness.threads.run { barrier.arriveAndWait() } }
        await barrier.waitUntilPassed()
        #expect(harness.folder.openDescriptorCount == 0)
    }

    @Test func nestedLoadIsNotLimitedByTheThreadPool() async throws {
        let harness = try Self.harness(threadLimit: 1)
        let barrier = Barrier(count: 2)
        // This job occupies the only thread until the nested load has ended.
        try harness.threads.run { barrier.arriveAndWait() }
        var request = try Request(harness.url(of: "f"))
        request.nestingDepth = 1
        let nestedRequest = request
        let recording = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                harness.prepare(nestedRequest, onEnd: { continuation.resume(returning: $0) }).start()
            }
        } onCancel: {
            // The test's time limit has passed, and the nested load still waits for the thread.
            barrier.arrive()
        }
        #expect(recording.hasBytes(Self.bytes))
        barrier.arrive()
    }
}
