// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import ServerSupport
import Synchronization
import TestThreads
import Testing

@testable import PortolanTransport

/// Exclusive use of a loop, its work and its timers.
@Suite("Socket event loops", .timeLimit(.minutes(10)))
struct SocketEventLoopTests {
    /// State that is used on the event loop only. The count or the flag would show two users at once.
    private final class Shared: @unchecked Sendable {  // … because that is what is tested
        var count = 0
        var isBusy = false
        var overlaps = 0

        func touch() {
            if isBusy { overlaps += 1 }
            isBusy = true
            count += 1
            isBusy = false
        }
    }

    /// A connection that handles a response may have another connection checked, of which TLS has read something.
    @Test(arguments: [4, 64]) func nestedReadDoesNotChangeBorrowedBytes(_ size: Int) throws {
        let loop = try SocketEventLoop()
        var seen: [[UInt8]] = []
        func read(_ byte: UInt8, _ size: Int, _ body: (borrowing RawSpan) -> Void) {
            _ = unsafe loop.receive(atMost: size) { buffer in
                unsafe buffer.initializeMemory(as: UInt8.self, repeating: byte)
                return .moved(size)
            } _: {
                body($0)
            }
        }
        func note(_ span: borrowing RawSpan) { seen.append(unsafe span.withUnsafeBytes { unsafe Array($0) }) }
        loop.inTurn {
            read(1, 8) { outer in
                read(2, size) { note($0) }
                note(outer)
            }
        }
        #expect(seen == [[UInt8](repeating: 2, count: size), [UInt8](repeating: 1, count: 8)])
    }

    @Test func turnsAreExclusive() async throws {
        let loop = try SocketEventLoop()
        let shared = Shared()
        let (threads, each) = (8, 3_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for thread in 0..<threads {
                group.addTask {
                    try await inOwnThread {
                        for number in 0..<each {
                            if (number + thread) % 3 == 0 {
                                loop.inTurn { shared.touch() }
                            } else if loop.enter() {
                                shared.touch()
                                loop.leave()
                            } else {
                                loop.execute { shared.touch() }
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
        loop.inTurn {
            #expect(shared.count == threads * each)
            #expect(shared.overlaps == 0)
        }
    }

    @Test func workQueuedWhileTheLoopIsInUseRuns() async throws {
        let loop = try SocketEventLoop()
        for _ in 0..<200 {
            let done = try Gate()
            loop.inTurn {
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

    @Test func queuedWorkIsNotOvertaken() async throws {
        let loop = try SocketEventLoop()
        loop.enterInTime()
        loop.execute {}
        // The loop is in use and has queued work. Each of these makes `enter()` return `false`.
        #expect(!loop.enter())
        #expect(loop.isOnLoop)
        loop.leave()
        #expect(!loop.isOnLoop)
    }

    @Test func timerFiresInATurn() async throws {
        let loop = try SocketEventLoop()
        let fired = try Gate()
        let wasInTurn = Mutex(false)
        _ = loop.inTurn {
            loop.schedule(after: .milliseconds(5)) {
                wasInTurn.withLock { $0 = loop.isOnLoop }
                fired.open()
            }
        }
        try await fired.wait()
        #expect(wasInTurn.withLock { $0 })
    }

    /// The loop sleeps until the later timer, so the earlier one must wake it.
    @Test func earlierTimerWakesTheLoop() async throws {
        let loop = try SocketEventLoop()
        _ = loop.inTurn { loop.schedule(after: .seconds(3_600)) {} }
        for _ in 0..<20 {
            let fired = try Gate()
            _ = loop.inTurn { loop.schedule(after: .milliseconds(1)) { fired.open() } }
            try await fired.wait()
        }
    }

    @Test func timersFireInOrderUnlessCancelled() async throws {
        let loop = try SocketEventLoop()
        let fired = Mutex<[Int]>([])
        let last = try Gate()
        loop.inTurn {
            _ = loop.schedule(after: .milliseconds(60)) { last.open() }
            let off = loop.schedule(after: .milliseconds(2)) { fired.withLock { $0.append(0) } }
            for number in [3, 1, 2] { _ = loop.schedule(after: .milliseconds(number * 10)) { fired.withLock { $0.append(number) } } }
            off.cancel()
        }
        try await last.wait()
        #expect(fired.withLock { $0 } == [1, 2, 3])
    }

    @Test(arguments: [Duration.seconds(Int64.max), .seconds(Int64.min / 2), .zero, .nanoseconds(1)])
    func timersAcceptAnyDuration(_ time: Duration) async throws {
        let loop = try SocketEventLoop()
        let timer = loop.inTurn { loop.schedule(after: time) {} }
        let done = try Gate()
        loop.execute { done.open() }
        try await done.wait()
        timer.cancel()
    }
}
