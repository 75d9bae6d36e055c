// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// What an attempt leaves behind that another one follows.
@Suite(.timeLimit(.minutes(2))) struct RetryEndTests {
    /// A cancel during the wait for the next attempt leaves no timer.
    @Test func cancelledRetryLeavesNoTimer() throws {
        let clock = ManualClock()
        let loader = loader(StubHandler { _ in throw LoadError(.connectionLost, message: "lost") }) {
            ($0.clock, $0.retries, $0.timeouts) = (clock, RetryPolicy(limit: 1), Timeouts())
        }
        let task = loader.task(for: try Request("x:1"), delegate: RecordingDelegate())
        task.resume()
        task.cancel()
        #expect(task.state == .ended && clock.pendingTimerCount == 0)
    }

    @Test func openChallengeOfAFailedAttemptStopsNoTimer() throws {
        let (handler, clock) = (ManualHandler(), ManualClock())
        var policy = RetryPolicy(limit: 1)
        policy.jitter = 0
        let loader = loader(handler) { [policy] in
            ($0.clock, $0.retries, $0.timeouts) = (clock, policy, Timeouts(idle: .seconds(10)))
        }
        let open = Mutex<[AuthenticationChallenge]>([])
        let delegate = RecordingDelegate(onChallenge: { challenge in open.withLock { $0.append(challenge) } })
        let task = loader.task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let first = try #require(handler.loads.first)
        let space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "x", host: "h")
        first.client.didReceive(AuthenticationChallenge(protectionSpace: space) { _ in })
        first.client.didFail(with: LoadError(.connectionLost, message: "lost"))
        clock.advance(by: .seconds(1))
        #expect(handler.loads.count == 2)
        clock.advance(by: .seconds(60))
        #expect(delegate.events.last == .failed(.timedOut), "\(delegate.events)")
        open.withLock { $0 = [] }
        task.cancel()
    }
}
