// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A meeting of concurrent uploads in `read_body`: the first load that reads waits until another load has read, too.
/// So two uploads overlap, no matter how late their threads start.
final class ReadMeeting: Sendable {
    /// The longest time that the first load waits. A plugin that reads its uploads one after another does not overlap.
    private static let timeLimit = Duration.seconds(1)
    private let state = ConditionLock((readers: 0, isOver: false))

    /// Called after `read_body` has copied bytes to the plugin's buffer.
    func arrive() {
        let isFirst = state.withLockBroadcasting { state in
            state.readers += 1
            if state.readers > 1 { state.isOver = true }
            return state.readers == 1
        }
        guard isFirst else { return }
        _ = state.wait(atMost: Self.timeLimit) { $0.isOver ? true : nil }
        state.withLockBroadcasting { $0.isOver = true }
    }
}
