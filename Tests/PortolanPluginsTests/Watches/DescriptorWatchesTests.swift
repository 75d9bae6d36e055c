// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTestSupport
import Testing

@testable import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The events of descriptor watches and timers, and descriptors that several loads use.
@Suite(.timeLimit(.minutes(10))) struct DescriptorWatchesTests {
    private final class ReadinessRecorder: Sendable {
        let readyCount = ConditionLock(0)
        let closedDescriptors = ConditionLock<[CInt]>([])

        func wait(for count: Int = 1) { readyCount.wait { $0 >= count ? () : nil } }

        func watches(_ clock: any LoadClock = SystemClock.shared) -> DescriptorWatches {
            DescriptorWatches(
                clock: clock, whenReady: { self.readyCount.withLockBroadcasting { $0 += 1 } },
                whenClosed: { number in self.closedDescriptors.withLock { $0.append(number) } })
        }
    }

    private let recorder = ReadinessRecorder()

    @Test func readyDescriptorIsReportedOnceEachTimeItIsArmed() throws {
        let pair = try WatchedSocketPair()
        let watches = recorder.watches()
        pair.send("x")
        for round in 1...3 {
            #expect(watches.watch(pair.pluginSocket, for: [.readable, .hungUp]) == 0)
            recorder.wait(for: round)
            #expect(watches.takeNewEvents(isPaused: false))
            #expect(!watches.takeNewEvents(isPaused: false))
            #expect(watches.takeReady(pair.pluginSocket) == .readable)
            #expect(watches.takeReady(pair.pluginSocket) == [])
        }
        #expect(recorder.readyCount.withLock { $0 } == 3)
        watches.giveUp()
        #expect(watches.watch(pair.pluginSocket, for: .readable) == EMFILE)
    }

    @Test func hangUpIsReported() throws {
        let pair = try WatchedSocketPair()
        let watches = recorder.watches()
        #expect(watches.watch(pair.pluginSocket, for: .hungUp) == 0)
        shutdown(pair.testSocket, CInt(SHUT_WR))
        recorder.wait()
        #expect(watches.takeReady(pair.pluginSocket) == .hungUp)
        shutdown(pair.testSocket, CInt(SHUT_RDWR))
        #expect(watches.watch(pair.pluginSocket, for: [.readable, .writable]) == 0)
        recorder.wait(for: 2)
        #expect(watches.takeReady(pair.pluginSocket) == .all)
        watches.giveUp()
    }

    @Test func pauseDelaysReadableButNotWritable() throws {
        let pair = try WatchedSocketPair()
        let watches = recorder.watches()
        // Fills the buffer of the socket, so that the socket is readable but not writable.
        let bytes = [UInt8](repeating: 0, count: 1 << 16)
        while unsafe send(pair.pluginSocket, bytes, bytes.count, CInt(MSG_DONTWAIT)) > 0 {}
        pair.send("x")
        #expect(watches.watch(pair.pluginSocket, for: [.readable, .writable]) == 0)
        recorder.wait()
        #expect(!watches.takeNewEvents(isPaused: true), "readable waits for the resume; writable is armed again")
        var buffer = bytes
        while unsafe recv(pair.testSocket, &buffer, buffer.count, CInt(MSG_DONTWAIT)) > 0 {}
        recorder.wait(for: 2)
        #expect(watches.takeNewEvents(isPaused: true))
        #expect(watches.takeReady(pair.pluginSocket) == [.readable, .writable])
        #expect(!watches.takeNewEvents(isPaused: false))
        watches.giveUp()
    }

    @Test func rearmingDiscardsAPendingEvent() throws {
        let pair = try WatchedSocketPair()
        let watches = recorder.watches()
        pair.send("x")
        #expect(watches.watch(pair.pluginSocket, for: .readable) == 0)
        recorder.wait()
        #expect(!watches.takeNewEvents(isPaused: true))
        var byte: UInt8 = 0
        #expect(unsafe read(pair.pluginSocket, &byte, 1) == 1)
        #expect(watches.watch(pair.pluginSocket, for: .readable) == 0)
        #expect(!watches.takeNewEvents(isPaused: false))
        #expect(watches.takeReady(pair.pluginSocket) == [])
        watches.giveUp()
    }

    @Test func reusedDescriptorNumberBelongsToTheSecondLoad() throws {
        let pairs = try (0..<2).map { _ in try WatchedSocketPair() }
        let (firstWatches, secondRecorder) = (recorder.watches(), ReadinessRecorder())
        let secondWatches = secondRecorder.watches()
        let number = dup(pairs[0].pluginSocket)
        #expect(firstWatches.watch(number, for: .readable) == 0)
        // Assigns the same number, as close(2) and open(2) can do. Those calls could return another number while other
        // tests run.
        #expect(dup2(pairs[1].pluginSocket, number) == number)
        #expect(secondWatches.watch(number, for: .readable) == 0)
        #expect(recorder.closedDescriptors.withLock { $0 } == [number])
        pairs[0].send("x")
        pairs[1].send("x")
        secondRecorder.wait()
        #expect(secondWatches.takeReady(number) == .readable)
        #expect(!firstWatches.takeNewEvents(isPaused: false))
        firstWatches.giveUp()
        #expect(secondWatches.watch(number, for: .readable) == 0)
        secondRecorder.wait(for: 2)
        secondWatches.unwatch(number)
        close(number)
        #expect(secondRecorder.closedDescriptors.withLock { $0 }.isEmpty)
    }

    @Test func reusedDescriptorNumberOfTheSameLoadIsWatched() throws {
        let pairs = try (0..<2).map { _ in try WatchedSocketPair() }
        let watches = recorder.watches()
        let number = dup(pairs[0].pluginSocket)
        #expect(watches.watch(number, for: .readable) == 0)
        #expect(dup2(pairs[1].pluginSocket, number) == number)
        #expect(watches.watch(number, for: .readable) == 0)
        pairs[1].send("x")
        recorder.wait()
        #expect(watches.takeReady(number) == .readable)
        watches.giveUp()
        close(number)
    }

    /// Calls `becameReady` and `wasClosed` as the poller does, for the first watch after the second has begun.
    @Test func eventOfARemovedWatchIsNotReportedForTheNextOne() throws {
        let pair = try WatchedSocketPair()
        let watches = recorder.watches()
        #expect(watches.watch(pair.pluginSocket, for: .readable) == 0)
        watches.unwatch(pair.pluginSocket)
        #expect(watches.watch(pair.pluginSocket, for: .readable) == 0)
        watches.becameReady(pair.pluginSocket, 1, for: .readable)
        watches.becameReady(pair.pluginSocket, 2, for: .writable)
        watches.wasClosed(pair.pluginSocket, 1)
        #expect(!watches.takeNewEvents(isPaused: false) && watches.takeReady(pair.pluginSocket) == [])
        #expect(recorder.closedDescriptors.withLock { $0 }.isEmpty)
        watches.becameReady(pair.pluginSocket, 2, for: .all)
        #expect(watches.takeNewEvents(isPaused: false) && watches.takeReady(pair.pluginSocket) == [.readable, .hungUp])
        watches.giveUp()
    }

    @Test func timerFiresOnceEachTimeItIsSet() {
        let clock = ManualClock()
        let watches = recorder.watches(clock)
        watches.setTimer(0, 10)
        watches.setTimer(1, 20)
        watches.setTimer(0, 30)
        clock.advance(by: .milliseconds(20))
        recorder.wait()
        #expect(watches.takeNewEvents(isPaused: true))
        #expect(!watches.takeFired(0), "the timer was set again")
        #expect(watches.takeFired(1) && !watches.takeFired(1))
        watches.setTimer(0, -1)
        watches.setTimer(2, .max)
        clock.advance(by: .seconds(100))
        #expect(!watches.takeNewEvents(isPaused: false))
        watches.setTimer(2, 5)
        watches.giveUp()
        clock.advance(by: .seconds(100))
        #expect(!watches.takeNewEvents(isPaused: false))
        #expect(recorder.readyCount.withLock { $0 } == 1)
    }
}
