// SPDX-License-Identifier: Apache-2.0

import PortolanFile
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Loads whose delegates occupy the threads that read files.
@Suite(.timeLimit(.minutes(2))) struct FileThreadsTests {
    private let files: FileHarness

    init() throws {
        files = try FileHarness(threads: 4)
        try files.folder.write("outer".utf8, to: "outer")
        try files.folder.write("inner".utf8, to: "inner")
    }

    @Test func loadsWhoseDelegatesWaitForAnotherLoadAllEnd() async throws {
        let loader = loader(files.handler)
        let inner = try Request(files.url(of: "inner"))
        let barrier = Barrier(count: 4)
        let counts = Mutex<[Int]>([])
        let delegates = (0..<4).map { _ in
            RecordingDelegate { event, _ in
                guard case .response = event else { return .keepGoing }
                // All threads are occupied before the first inner load is requested.
                barrier.arriveAndWait()
                let count = (try? loader.waitForData(for: inner).0.count) ?? -1  // because a failure is a count that is wrong
                counts.withLock { $0.append(count) }
                return .keepGoing
            }
        }
        for delegate in delegates { loader.task(for: try Request(files.url(of: "outer")), delegate: delegate).resume() }
        for delegate in delegates {
            await delegate.ended()
            #expect(delegate.text == "outer")
        }
        #expect(counts.withLock { $0 } == [5, 5, 5, 5])
    }

    /// A load that has a thread or is paused does not wait for a thread, whatever the number of waiting loads.
    @Test func onlyALoadThatWaitsForAThreadReportsAStall() async throws {
        let loader = loader(files.handler)
        let barrier = Barrier(count: 4)
        let isOpen = ConditionLock(false)
        let pausing = RecordingDelegate { event, _ in
            guard case .response = event else { return .keepGoing }
            return .pause
        }
        let paused = loader.task(for: try Request(files.url(of: "outer")), delegate: pausing)
        paused.resume()
        while pausing.events.isEmpty { await Task.yield() }
        let blockedDelegates = (0..<4).map { _ in
            RecordingDelegate { event, _ in
                guard case .response = event else { return .keepGoing }
                barrier.arrive()
                isOpen.wait { $0 ? () : nil }
                return .keepGoing
            }
        }
        let request = try Request(files.url(of: "outer"))
        let tasks = blockedDelegates.map { loader.task(for: request, delegate: $0) }
        for task in tasks { task.resume() }
        await barrier.waitUntilPassed()
        let waiting = loader.task(for: request, delegate: RecordingDelegate())
        waiting.resume()
        #expect(waiting.stallReason?.contains("all 4 threads for files") == true)
        #expect(([paused] + tasks).allSatisfy { $0.stallReason == nil })
        waiting.cancel()
        paused.cancel()
        isOpen.withLockBroadcasting { $0 = true }
        for blockedDelegate in blockedDelegates { await blockedDelegate.ended() }
    }

    @Test func timeoutErrorNamesTheThreadsInUse() async throws {
        let clock = ManualClock()
        let loader = loader(files.handler) { $0.clock = clock }
        let barrier = Barrier(count: 4)
        let isOpen = ConditionLock(false)
        let blockedDelegates = (0..<4).map { _ in
            RecordingDelegate { event, _ in
                guard case .response = event else { return .keepGoing }
                barrier.arrive()
                isOpen.wait { $0 ? () : nil }
                return .keepGoing
            }
        }
        var request = try Request(files.url(of: "outer"))
        request.timeouts.idle = .seconds(1000)
        for blockedDelegate in blockedDelegates { loader.task(for: request, delegate: blockedDelegate).resume() }
        await barrier.waitUntilPassed()
        let last = RecordingDelegate()
        loader.task(for: try Request(files.url(of: "inner")), delegate: last).resume()
        clock.advance(by: .seconds(60))
        await last.ended()
        #expect(last.error?.code == .timedOut)
        #expect(last.error?.message.contains("all 4 threads for files are busy with loads that have not ended") == true)
        isOpen.withLockBroadcasting { $0 = true }
        for blockedDelegate in blockedDelegates { await blockedDelegate.ended() }
    }
}
