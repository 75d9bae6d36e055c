// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import ServerSupport
import Synchronization
import TestThreads
import Testing

@testable import PortolanTransport

/// An event loop is used by one thread at a time. It runs queued work and timers.
@Suite("Socket event loops", .timeLimit(.minutes(10)))
struct SocketEventLoopTests {
    /// State that only the thread on the event loop uses. A wrong count or an overlap shows that two threads used the
    /// state at the same time.
    private final class SharedState: @unchecked Sendable {  // … because the test checks the exclusive use
        var count = 0
        var isBusy = false
        var overlapCount = 0

        func use() {
            if isBusy { overlapCount += 1 }
            isBusy = true
            count += 1
            isBusy = false
        }
    }

    /// While the receiver of one connection handles bytes, it can cause a read of another connection on the same loop.
    @Test(arguments: [4, 64]) func nestedReadDoesNotChangeBorrowedBytes(_ size: Int) throws {
        let loop = try SocketEventLoop()
        var received: [[UInt8]] = []
        func read(_ byte: UInt8, _ size: Int, _ handleBytes: (borrowing RawSpan) -> Void) {
            _ = unsafe loop.receive(atMost: size) { buffer in
                unsafe buffer.initializeMemory(as: UInt8.self, repeating: byte)
                return .moved(size)
            } _: {
                handleBytes($0)
            }
        }
        func record(_ span: borrowing RawSpan) { received.append(unsafe span.withUnsafeBytes { unsafe Array($0) }) }
        loop.runExclusively {
            read(1, 8) { borrowedBytes in
                read(2, size) { record($0) }
                record(borrowedBytes)
            }
        }
        #expect(received == [[UInt8](repeating: 2, count: size), [UInt8](repeating: 1, count: 8)])
    }

    @Test func onlyOneThreadIsOnTheLoop() async throws {
        let loop = try SocketEventLoop()
        let shared = SharedState()
        let (threadCount, usesPerThread) = (8, 3_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<threadCount {
                group.addTask {
                    try await inOwnThread {
                        for number in 0..<usesPerThread {
                            if (number + thread) % 3 == 0 {
                                loop.runExclusively { shared.use() }
                            } else if loop.tryEnter() {
                                shared.use()
                                loop.leave()
                            } else {
                                loop.execute { shared.use() }
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let done = try Gate()
        loop.execute { done.open() }
        try await done.wait()
        loop.runExclusively {
            #expect(shared.count == threadCount * usesPerThread)
            #expect(shared.overlapCount == 0)
        }
    }

    @Test func workQueuedWhileTheLoopIsInUseRuns() async throws {
        let loop = try SocketEventLoop()
        for _ in 0..<200 {
            let done = try Gate()
            loop.runExclusively {
                loop.execute { done.open() }
                #expect(!done.isOpen)
            }
            try await done.wait()
        }
    }

    @Test func workWakesASleepingLoop() async throws {
        let loop = try SocketEventLoop()
        for _ in 0..<200 {
            let done = try Gate()
            loop.execute { done.open() }
            try await done.wait()
        }
    }

    @Test func workRunsInOrder() async throws {
        let loop = try SocketEventLoop()
        let numbers = Mutex<[Int]>([])
        let done = try Gate()
        for number in 0..<1_000 { loop.execute { numbers.withLock { $0.append(number) } } }
        loop.execute { done.open() }
        try await done.wait()
        #expect(numbers.withLock { $0 } == Array(0..<1_000))
    }

    @Test func loopInUseWithQueuedWorkCannotBeEntered() async throws {
        let loop = try SocketEventLoop()
        loop.enterWhenFree()
        loop.execute {}
        // `tryEnter()` returns `false` if the loop is in use, and also if it has queued work.
        #expect(!loop.tryEnter())
        #expect(loop.isOnLoop)
        loop.leave()
        #expect(!loop.isOnLoop)
    }

    @Test func timerFiresOnTheLoop() async throws {
        let loop = try SocketEventLoop()
        let fired = try Gate()
        let wasOnLoop = Mutex(false)
        _ = loop.runExclusively {
            loop.schedule(after: .milliseconds(5)) {
                wasOnLoop.withLock { $0 = loop.isOnLoop }
                fired.open()
            }
        }
        try await fired.wait()
        #expect(wasOnLoop.withLock { $0 })
    }

    /// The loop sleeps until the later timer is due. Scheduling an earlier timer must wake the loop.
    @Test func earlierTimerWakesTheLoop() async throws {
        let loop = try SocketEventLoop()
        _ = loop.runExclusively { loop.schedule(after: .seconds(3_600)) {} }
        for _ in 0..<20 {
            let fired = try Gate()
            _ = loop.runExclusively { loop.schedule(after: .milliseconds(1)) { fired.open() } }
            try await fired.wait()
        }
    }

    @Test func timersFireInOrderUnlessCancelled() async throws {
        let loop = try SocketEventLoop()
        let firedNumbers = Mutex<[Int]>([])
        let lastFired = try Gate()
        loop.runExclusively {
            _ = loop.schedule(after: .milliseconds(60)) { lastFired.open() }
            let cancelledTimer = loop.schedule(after: .milliseconds(2)) { firedNumbers.withLock { $0.append(0) } }
            for number in [3, 1, 2] { _ = loop.schedule(after: .milliseconds(number * 10)) { firedNumbers.withLock { $0.append(number) } } }
            cancelledTimer.cancel()
        }
        try await lastFired.wait()
        #expect(firedNumbers.withLock { $0 } == [1, 2, 3])
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min / 2), .zero, .nanoseconds(1)])
    func timersAcceptAnyDuration(_ time: Duration) async throws {
        let loop = try SocketEventLoop()
        let timer = loop.runExclusively { loop.schedule(after: time) {} }
        let done = try Gate()
        loop.execute { done.open() }
        try await done.wait()
        timer.cancel()
    }
}
