// SPDX-License-Identifier: Apache-2.0

/// Timers ordered by deadline, in a binary heap. Cancelled timers are swept whenever the heap has doubled since the
/// last sweep.
package struct TimerQueue {
    private var heap: [(deadline: Duration, alarm: ScheduledTimer)] = []
    private var sweepAt = 64

    package init() {}

    package var nextDeadline: Duration? { heap.first?.deadline }

    /// The number of timers that were neither removed nor cancelled.
    package var pendingCount: Int { heap.count { $0.alarm.isPending } }

    package mutating func insert(_ alarm: ScheduledTimer, at deadline: Duration) {
        if heap.count >= sweepAt { sweep() }
        heap.append((deadline, alarm))
        var child = heap.count - 1
        while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the timers that are due, earliest first.
    package mutating func removeDue(at now: Duration) -> [ScheduledTimer] {
        var due: [ScheduledTimer] = []
        while let first = heap.first, first.deadline <= now {
            due.append(first.alarm)
            heap.swapAt(0, heap.count - 1)
            heap.removeLast()
            sink(0)
        }
        return due
    }

    private mutating func sweep() {
        heap.removeAll { !$0.alarm.isPending }
        for index in stride(from: heap.count / 2, through: 0, by: -1) { sink(index) }
        sweepAt = max(64, heap.count * 2)
    }

    private mutating func sink(_ start: Int) {
        var parent = start
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && heap[child].deadline < heap[least].deadline {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
