// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct ClockTests {
    @Test func timersFireInOrder() {
        var random = SeededGenerator(seed: 3)
        var queue = TimerQueue()
        let firedTimes = Mutex<[Int]>([])
        var expectedTimes: [Int] = []
        for _ in 0..<1000 {
            let time = Int.random(in: 0..<500, using: &random)
            let timer = ScheduledTimer { firedTimes.withLock { $0.append(time) } }
            queue.insert(timer, at: .seconds(time))
            if Bool.random(using: &random) { timer.cancel() } else { expectedTimes.append(time) }
        }
        while let next = queue.nextDeadline { for timer in queue.removeDue(at: next) { timer.fire() } }
        #expect(firedTimes.withLock { $0 } == expectedTimes.sorted())
    }

    @Test func timerFiresOnceAndNotAfterACancel() {
        let count = Mutex(0)
        let timer = ScheduledTimer { count.withLock { $0 += 1 } }
        timer.fire()
        timer.fire()
        let cancelledTimer = ScheduledTimer { count.withLock { $0 += 100 } }
        cancelledTimer.cancel()
        cancelledTimer.fire()
        #expect(count.withLock { $0 } == 1)
    }

    @Test func systemClockFiresNoTimerEarly() {
        let clock = SystemClock()
        let firedEarly = ConditionLock<[Bool]>([])
        let now = clock.now
        for number in [3, 1, 2] {
            let deadline = now + .milliseconds(20 * number)
            // The clock that fires timers has a higher resolution than the clock of `now`. The two clocks may differ by
            // a few milliseconds.
            clock.schedule(
                ScheduledTimer { firedEarly.withLockBroadcasting { $0.append(MonotonicTime.now < deadline) } }, at: deadline)
        }
        #expect(firedEarly.wait { $0.count == 3 ? $0 : nil } == [false, false, false])
    }

    @Test func blockedTimerDoesNotDelayOthers() {
        let clock = SystemClock()
        let isReleased = ConditionLock(false)
        let hasFired = ConditionLock(false)
        clock.schedule(ScheduledTimer { _ = isReleased.wait { $0 ? true : nil } }, at: clock.now)
        clock.schedule(ScheduledTimer { hasFired.withLockBroadcasting { $0 = true } }, at: clock.now + .milliseconds(10))
        #expect(hasFired.wait { $0 ? true : nil } == true)
        isReleased.withLockBroadcasting { $0 = true }
    }
}
