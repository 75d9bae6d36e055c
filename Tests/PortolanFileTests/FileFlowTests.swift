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
        let house = try FileHarness(threads: threads)
        try house.folder.write(bytes, to: "f")
        return house
    }

    @Test func pausingAtEveryEventLosesAndRepeatsNothing() async throws {
        let house = try Self.harness()
        let threads = house.threads
        let recording = try await house.load(house.url(of: "f")) { _, attempt in
            // This event occupies the only thread, so the resume comes after the return of the pause.
            try? threads.run { attempt.resume() }
            return .pause
        }
        #expect(recording.holds(Self.bytes))
        #expect(recording.pieces.count == Self.events.last)
        #expect(recording.finishes == 1)
        #expect(recording.breaches.isEmpty)
        try await house.settle()
        #expect(house.folder.openDescriptors == 0)
    }

    @Test func pauseAtTheResponseToHeadHoldsBackTheFinish() async throws {
        let house = try Self.harness()
        let threads = house.threads
        let recording = try await house.load(house.url(of: "f"), method: .head) { _, attempt in
            try? threads.run { attempt.resume() }
            return .pause
        }
        #expect(recording.finishes == 1)
        #expect(recording.breaches.isEmpty)
    }

    @Test(.timeLimit(.minutes(10))) func resumeMayOvertakeThePauseThatItAnswers() async throws {
        let house = try Self.harness()
        let load = Mutex<(any ProtocolLoad)?>(nil)
        let client = FileRecordingClient { _ in
            load.withLock { $0 }?.resumeLoading()
            return .pause
        }
        let request = try Request(house.url(of: "f"))
        let made = house.handler.makeLoad(for: request, cachedResponse: nil, client: client)
        load.withLock { $0 = made }
        made.startLoading()
        // Not `settle()`, because its job may run before the resumes that the load requests meanwhile.
        while client.recording.ends == 0 {
            try Task.checkCancellation()
            await Task.yield()
        }
        load.withLock { $0 = nil }
        #expect(client.recording.holds(Self.bytes))
        #expect(client.recording.ends == 1)
    }

    @Test func aPausedLoadHoldsNoThreadAndNoOtherLoadUp() async throws {
        let house = try Self.harness(threads: 1)
        let url = house.url(of: "f")
        let request = try Request(url)
        let (ends, continuation) = AsyncStream.makeStream(of: FileRecordingClient.Recording.self)
        let paused = Mutex(0)
        let first = house.begin(
            request,
            answer: { event, _ in
                guard event == 2 else { return .keepGoing }
                paused.withLock { $0 += 1 }
                return .pause
            }, ended: { continuation.yield($0) })
        first.start()
        try await house.settle()
        #expect(paused.withLock { $0 } == 1)
        // The second load uses the only thread while the first load is paused in its body.
        #expect(try await house.load(url).holds(Self.bytes))
        #expect(house.folder.openDescriptors == 1)
        first.attempt?.resume()
        var iterator = ends.makeAsyncIterator()
        #expect(await iterator.next()?.holds(Self.bytes) == true)
    }

    @Test(arguments: events) func stoppedAtAnyEventIsTheLast(_ last: Int) async throws {
        let house = try Self.harness()
        let recording = try await house.load(house.url(of: "f")) { event, _ in event == last ? .stopped : .keepGoing }
        try await house.settle()
        #expect(recording.pieces.count == last)
        #expect(recording.ends == 0)
        #expect(recording.breaches.isEmpty)
        #expect(house.folder.openDescriptors == 0)
    }

    @Test(arguments: events) func cancelledInAnyEventFailsOnceAndDeliversNoMore(_ last: Int) async throws {
        let house = try Self.harness()
        let recording = try await house.load(house.url(of: "f")) { event, attempt in
            if event == last { attempt.end(with: LoadError(.cancelled, message: "enough")) }
            return .keepGoing
        }
        try await house.settle()
        #expect(recording.pieces.count == last)
        #expect(recording.errors.map(\.code) == [.cancelled])
        #expect(recording.breaches.isEmpty)
        #expect(house.folder.openDescriptors == 0)
    }

    @Test(arguments: events) func stopWhilePausedClosesTheFileAtOnce(_ last: Int) async throws {
        let house = try Self.harness()
        let begun = house.begin(
            try Request(house.url(of: "f")), answer: { event, _ in event == last ? .pause : .keepGoing }, ended: { _ in })
        begun.start()
        try await house.settle()
        #expect(house.folder.openDescriptors == 1)
        begun.attempt?.end(with: LoadError(.cancelled, message: "enough"))
        #expect(house.folder.openDescriptors == 0)
    }

    @Test func stopBeforeTheStartDeliversNothing() async throws {
        let house = try Self.harness()
        let client = FileRecordingClient { _ in .keepGoing }
        let load = house.handler.makeLoad(for: try Request(house.url(of: "f")), cachedResponse: nil, client: client)
        load.stopLoading()
        load.stopLoading()
        load.startLoading()
        load.resumeLoading()
        try await house.settle()
        #expect(client.recording.responses.isEmpty)
        #expect(client.recording.ends == 0)
    }

    @Test func resumeWithoutAPauseDoesNothing() async throws {
        let house = try Self.harness()
        let recording = try await house.load(house.url(of: "f")) { _, attempt in
            attempt.resume()
            attempt.resume()
            return .keepGoing
        }
        #expect(recording.holds(Self.bytes))
        #expect(recording.ends == 1)
    }

    @Test func aThousandLoadsLeakNoDescriptor() async throws {
        let house = try FileHarness(threads: 4)
        try house.folder.write(Patterned.bytes(300_000), to: "f")
        let url = house.url(of: "f")
        let sums = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<1000 {
                group.addTask { try await house.load(url) { event, _ in event == index % 3 ? .stopped : .keepGoing }.ends }
            }
            return try await group.reduce(0, +)
        }
        // Two of three loads stop: at the response, and at the only piece.
        #expect(sums == 333)
        // Four jobs that wait for each other occupy all four threads, so no load runs on a thread any more.
        let barrier = Barrier(count: 4)
        for _ in 0..<4 { try house.threads.run { barrier.arriveAndWait() } }
        await barrier.passed()
        #expect(house.folder.openDescriptors == 0)
    }

    @Test func aNestedLoadNeedsNoPlaceInThePool() async throws {
        let house = try Self.harness(threads: 1)
        let barrier = Barrier(count: 2)
        // Occupies the only thread until the nested load has ended.
        try house.threads.run { barrier.arriveAndWait() }
        var request = try Request(house.url(of: "f"))
        request.nestingDepth = 1
        let nested = request
        let recording = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                house.begin(nested, ended: { continuation.resume(returning: $0) }).start()
            }
        } onCancel: {
            // The time limit has passed while the load waits for the thread.
            barrier.arrive()
        }
        #expect(recording.holds(Self.bytes))
        barrier.arrive()
    }
}
