// SPDX-License-Identifier: Apache-2.0

import PortolanFile
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Loads whose delegates block the threads that read files.
@Suite(.timeLimit(.minutes(2))) struct FileThreadsTests {
    private let harness: FileHarness

    init() throws {
        harness = try FileHarness(threadLimit: 4)
        try harness.folder.write("outer".utf8, to: "outer")
        try harness.folder.write("inner".utf8, to: "inner")
    }

    @Test func loadsWhoseDelegatesWaitForAnotherLoadAllEnd() async throws {
        let loader = loader(harness.handler)
        let innerRequest = try Request(harness.url(of: "inner"))
        let barrier = Barrier(count: 4)
        let counts = Mutex<[Int]>([])
        let delegates = (0..<4).map { _ in
            RecordingDelegate { event, _ in
                guard case .response = event else { return .keepGoing }
                // All threads are occupied before the first inner load is requested.
                barrier.arriveAndWait()
                let count = (try? loader.waitForData(for: innerRequest).0.count) ?? -1  // because -1 fails the expectation below
                counts.withLock { $0.append(count) }
                return .keepGoing
            }
        }
        for delegate in delegates { loader.task(for: try Request(harness.url(of: "outer")), delegate: delegate).resume() }
        for delegate in delegates {
            await delegate.ended()
            #expect(delegate.text == "outer")
        }
        #expect(counts.withLock { $0 } == [5, 5, 5, 5])
    }

    /// A load that runs on a thread or is paused reports no stall, even if other loads wait for a thread.
    @Test func onlyALoadThatWaitsForAThreadReportsAStall() async throws {
        let loader = loader(harness.handler)
        let barrier = Barrier(count: 4)
        let mayReturn = ConditionLock(false)
        let pausingDelegate = RecordingDelegate { event, _ in
            guard case .response = event else { return .keepGoing }
            return .pause
        }
        let pausedTask = loader.task(for: try Request(harness.url(of: "outer")), delegate: pausingDelegate)
        pausedTask.resume()
        while pausingDelegate.events.isEmpty { await Task.yield() }
        let blockedDelegates = (0..<4).map { _ in
            RecordingDelegate { event, _ in
                guard case .response = event else { return .keepGoing }
                barrier.arrive()
                mayReturn.wait { $0 ? () : nil }
                return .keepGoing
            }
        }
        let request = try Request(harness.url(of: "outer"))
        let tasks = blockedDelegates.map { loader.task(for: request, delegate: $0) }
        for task in tasks { task.resume() }
        await barrier.waitUntilPassed()
        let waitingTask = loader.task(for: request, delegate: RecordingDelegate())
        waitingTask.resume()
        #expect(waitingTask.stallReason?.contains("all 4 threads for files") == true)
        #expect(([pausedTask] + tasks).allSatisfy { $0.stallReason == nil })
        waitingTask.cancel()
        pausedTask.cancel()
        mayReturn.withLockBroadcasting { $0 = true }
        for blockedDelegate in blockedDelegates { await blockedDelegate.ended() }
    }

    @Test func timeoutErrorNamesTheThreadsInUse() async throws {
        let clock = ManualClock()
        let loader = loader(harness.handler) { $0.clock = clock }
        let barrier = Barrier(count: 4)
        let mayReturn = ConditionLock(false)
        let blockedDelegates = (0..<4).map { _ in
            RecordingDelegate { event, _ in
                guard case .response = event else { return .keepGoing }
                barrier.arrive()
                mayReturn.wait { $0 ? () : nil }
                return .keepGoing
            }
        }
        var request = try Request(harness.url(of: "outer"))
        request.timeouts.idle = .seconds(1000)
        for blockedDelegate in blockedDelegates { loader.task(for: request, delegate: blockedDelegate).resume() }
        await barrier.waitUntilPassed()
        let waitingDelegate = RecordingDelegate()
        loader.task(for: try Request(harness.url(of: "inner")), delegate: waitingDelegate).resume()
        clock.advance(by: .seconds(60))
        await waitingDelegate.ended()
        #expect(waitingDelegate.error?.code == .timedOut)
        #expect(waitingDelegate.error?.message.contains("all 4 threads for files are busy with loads that have not ended") == true)
        mayReturn.withLockBroadcasting { $0 = true }
        for blockedDelegate in blockedDelegates { await blockedDelegate.ended() }
    }
}
