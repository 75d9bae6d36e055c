// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// The pauses of a rate limit, beside those of the reader.
@Suite(.timeLimit(.minutes(2))) struct RateLimitPauseTests {
    private func limited(_ handler: any ProtocolHandler, _ clock: ManualClock, _ rate: Int) -> Loader {
        loader(handler) { ($0.clock, $0.maximumReceiveRate, $0.timeouts) = (clock, rate, Timeouts()) }
    }

    /// The limit has paused the load, and the caller has resumed it. Then the reader pauses it.
    @Test func limitResumesNoLoadThatItsReaderHasPaused() throws {
        let (handler, clock) = (ManualHandler(), ManualClock())
        let count = Mutex(0)
        let delegate = RecordingDelegate { event, _ in
            guard case .data = event else { return .keepGoing }
            return count.withLock { count in
                count += 1
                return count == 1 ? .keepGoing : .pause
            }
        }
        let task = limited(handler, clock, 1000).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let load = try #require(handler.loads.first)
        load.respond()
        #expect(load.deliver([UInt8](repeating: 1, count: 1000)) == .pause)
        task.suspend()
        task.resume()
        #expect(load.calls == [.start, .resume])
        #expect(load.deliver([UInt8](repeating: 1, count: 1000)) == .pause)
        clock.advance(by: .seconds(5))
        #expect(load.calls == [.start, .resume])
        task.cancel()
    }

    @Test func limitRetainsNoTaskThatHasEnded() throws {
        let (handler, clock) = (ManualHandler(), ManualClock())
        let loader = limited(handler, clock, 1)
        weak var released: LoadTask?
        do {
            let task = loader.task(for: try Request("x:1"), delegate: RecordingDelegate())
            released = task
            task.resume()
            let load = try #require(handler.loads.first)
            load.respond()
            #expect(load.deliver([UInt8](repeating: 1, count: 1_000_000)) == .pause)
            task.cancel()
        }
        #expect(released == nil, "the timer fires in 1,000,000 seconds; \(clock.pendingTimerCount) timers")
    }
}
