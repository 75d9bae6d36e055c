// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// A clock whose timers fire at once, and advance the time to their deadlines. It records the waits. For loads without
/// time limits.
final class InstantClock: LoadClock {
    private let state = Mutex((now: Duration.zero, waits: [Duration]()))

    var now: Duration { state.withLock { $0.now } }
    var waits: [Duration] { state.withLock { $0.waits } }

    func schedule(_ timer: ScheduledTimer, at deadline: Duration) {
        state.withLock { state in
            state.waits.append(deadline - state.now)
            state.now = max(state.now, deadline)
        }
        timer.fire()
    }
}
