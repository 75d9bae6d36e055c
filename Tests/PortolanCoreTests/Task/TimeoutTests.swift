// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite(.timeLimit(.minutes(2))) struct TimeoutTests {
    private let clock = ManualClock()
    private let handler = ManualHandler()

    /// Starts a task with these time limits. The test delivers the events of its load.
    private func start(_ timeouts: Timeouts, _ delegate: RecordingDelegate = RecordingDelegate()) throws -> (
        LoadTask, ManualLoad, RecordingDelegate
    ) {
        let loader = loader(handler) { $0.clock = clock }
        var request = try Request("x:1")
        request.timeouts = timeouts
        let task = loader.task(for: request, delegate: delegate)
        task.resume()
        return (task, try #require(handler.loads.first), delegate)
    }

    @Test func idleTimeoutFailsASilentLoad() throws {
        let (_, load, delegate) = try start(Timeouts(idle: .seconds(10)))
        clock.advance(by: .seconds(9))
        load.respond()
        clock.advance(by: .seconds(9))
        load.deliver([1])
        clock.advance(by: .milliseconds(9999))
        #expect(delegate.events.count == 2)
        clock.advance(by: .milliseconds(1))
        #expect(delegate.events.last == .failed(.timedOut))
        #expect(load.calls == [.start, .stop])
    }

    @Test func totalTimeoutFailsAnActiveLoad() throws {
        let (_, load, delegate) = try start(Timeouts(idle: .seconds(60), total: .seconds(10)))
        load.respond()
        for _ in 0..<9 {
            clock.advance(by: .seconds(1))
            load.deliver([1])
        }
        #expect(delegate.error == nil)
        clock.advance(by: .seconds(1))
        #expect(delegate.events.last == .failed(.timedOut))
    }

    @Test func aPausedLoadIsNotIdle() throws {
        let delegate = RecordingDelegate { event, _ in event == .data([1]) ? .pause : .keepGoing }
        let (task, load, _) = try start(Timeouts(idle: .seconds(10)), delegate)
        load.respond()
        #expect(load.deliver([1]) == .pause)
        clock.advance(by: .seconds(100))
        #expect(delegate.error == nil)
        task.resume()
        clock.advance(by: .seconds(100))
        #expect(delegate.events.last == .failed(.timedOut))
    }

    @Test func pendingChallengeStopsTheIdleTimer() throws {
        let delegate = RecordingDelegate(onChallenge: { challenge in Self.retain(challenge) })
        let (_, load, _) = try start(Timeouts(idle: .seconds(10)), delegate)
        let space = ProtectionSpace(kind: .password(scheme: ""), protocolName: "x", host: "h")
        load.client.didReceive(AuthenticationChallenge(protectionSpace: space) { _ in })
        clock.advance(by: .seconds(100))
        #expect(delegate.error == nil)
    }

    @Test func endedLoadLeavesNoTimer() throws {
        let (task, load, delegate) = try start(Timeouts(idle: .seconds(10), total: .seconds(20)))
        #expect(clock.pendingTimerCount == 1)
        load.respond()
        load.finish()
        #expect(clock.pendingTimerCount == 0)
        clock.advance(by: .seconds(100))
        #expect(delegate.events.last == .finished)
        #expect(task.metrics.timeToEnd == .zero)
    }

    @Test func loadEndedDuringItsStartLeavesNoTimer() throws {
        let endingClock = EndingClock()
        let delegate = RecordingDelegate()
        let loader = loader(handler) { $0.clock = endingClock }
        let task = loader.task(for: try Request("x:1"), delegate: delegate)
        endingClock.action.withLock { $0 = { task.cancel() } }
        task.resume()
        #expect(delegate.events == [.failed(.cancelled)])
        #expect(endingClock.clock.pendingTimerCount == 0)
    }

    @Test func configurationFillsMissingTimeoutsOfARequest() {
        let timeouts = Timeouts(idle: .seconds(1)).withDefaults(Timeouts(idle: .seconds(60), total: .seconds(600)))
        #expect(timeouts == Timeouts(idle: .seconds(1), total: .seconds(600)))
    }

    /// Retains the challenge for ever, because a challenge that is released is answered by default.
    private static func retain(_ challenge: AuthenticationChallenge) {
        _ = unsafe Unmanaged.passRetained(challenge)
    }
}

/// A clock whose time does not advance. It performs an action when its time is first read.
private final class EndingClock: LoadClock {
    let clock = ManualClock()
    let action = Mutex<(@Sendable () -> Void)?>(nil)

    var now: Duration {
        let action = action.withLock { $0.take() }
        action?()
        return clock.now
    }

    func schedule(_ timer: ScheduledTimer, at deadline: Duration) { clock.schedule(timer, at: deadline) }
}
