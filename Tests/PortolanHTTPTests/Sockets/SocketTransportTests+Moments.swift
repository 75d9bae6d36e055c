// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Glibc
import ServerSupport
import Synchronization
import TestThreads
import Testing

@testable import PortolanCore
@testable import PortolanHTTP

/// A thread that can be kept for a moment only.
extension SocketTransportTests {
    @Test func anAnswerThatIsQuickIsReadByTheThreadThatWaits() async throws {
        let reader = Mutex<UInt?>(nil)
        let bench = try Bench { _ in reader.withLock { $0 = UInt(pthread_self()) } }
        bench.pair.send("quick")
        let (isPromised, waiter) = try await inOwnThread {
            (bench.waitForMoment { bench.receiver.report.text.isEmpty }, UInt(pthread_self()))
        }
        #expect(isPromised)
        #expect(bench.receiver.report.text == "quick")
        #expect(reader.withLock { $0 } == waiter)
    }

    @Test func aSilentPeerIsLeftToTheLoop() async throws {
        let ended = try Gate()
        let bench = try Bench { if $0.ends > 0 { ended.open() } }
        try await inOwnThread { _ = bench.waitForMoment { true } }
        #expect(bench.receiver.report.text.isEmpty)
        bench.pair.send("late")
        bench.pair.close()
        try await ended.wait()
        #expect(bench.receiver.report.text == "late")
    }

    @Test func aSlowPeerGetsFewerAndFewerMoments() async throws {
        let bench = try Bench()
        let counts = try await inOwnThread {
            let slow = (0..<3).map { _ in bench.countUntilMoment { true } }
            bench.pair.send("quick")
            let quick = bench.countUntilMoment { bench.receiver.report.text.isEmpty }
            return slow + [quick, bench.countUntilMoment { true }]
        }
        #expect(counts == [0, 16, 32, 64, 0])
    }

    /// Whoever has it may keep it for long, for all that a thread of Swift's pool can know.
    @Test func noTurnIsWaitedFor() async throws {
        let ended = try Gate()
        let bench = try Bench { if $0.ends > 0 { ended.open() } }
        let hasReturned = DispatchSemaphore(value: 0)
        let wasInTime = Mutex<Bool?>(nil)
        try await inOwnThread {
            let isAsked = Mutex(false)
            _ = bench.waitForMoment {
                if !isAsked.withLock({
                    let was = $0
                    $0 = true
                    return was
                }) {
                    bench.loop.execute { wasInTime.withLock { $0 = hasReturned.wait(timeout: .now() + 10) == .success } }
                }
                return true
            }
            hasReturned.signal()
        }
        bench.pair.send("all")
        bench.pair.close()
        try await ended.wait()
        #expect(wasInTime.withLock { $0 } == true)
        #expect(bench.receiver.report.text == "all")
    }

    @Test(arguments: 0..<20)
    func aSocketThatIsClosedMeanwhileEndsOnce(_: Int) async throws {
        let ended = try Gate()
        let bench = try Bench { if $0.ends > 0 { ended.open() } }
        try await inOwnThread {
            let isAsked = Mutex(false)
            _ = bench.waitForMoment {
                if !isAsked.withLock({
                    let was = $0
                    $0 = true
                    return was
                }) {
                    bench.loop.execute { bench.transport.close() }
                }
                return true
            }
        }
        try await ended.wait()
        #expect(try await inOwnThread { bench.pair.hasEnded })
        #expect(bench.receiver.report.ends == 1)
    }
}

extension SocketTransportTests.Bench {
    /// In the calling thread.
    ///
    /// - Returns: `false` where the socket offered none.
    fileprivate func waitForMoment(while isNeeded: () -> Bool) -> Bool {
        loop.enterInTime()
        guard transport.promiseMoment() else {
            loop.leave()
            return false
        }
        transport.carryOnForMoment(while: isNeeded)
        return true
    }

    /// How many loads go without before one gets a moment.
    fileprivate func countUntilMoment(while isNeeded: () -> Bool) -> Int {
        var count = 0
        while !waitForMoment(while: isNeeded), count < 10_000 { count += 1 }
        return count
    }
}
