// SPDX-License-Identifier: Apache-2.0

/// Timers in a binary heap, ordered by deadline. Cancelled timers are removed when the heap has doubled since their
/// last removal.
package struct TimerQueue {
    private var heap: [(deadline: Duration, timer: ScheduledTimer)] = []
    private var sweepThreshold = 64

    package init() {}

    package var nextDeadline: Duration? { heap.first?.deadline }

    /// The number of timers in the queue that were not cancelled.
    package var pendingCount: Int { heap.count { $0.timer.isPending } }

    package mutating func insert(_ timer: ScheduledTimer, at deadline: Duration) {
        if heap.count >= sweepThreshold { removeCancelled() }
        heap.append((deadline, timer))
        var child = heap.count - 1
        while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the timers whose deadline has passed, earliest first.
    package mutating func removeDue(at now: Duration) -> [ScheduledTimer] {
        var due: [ScheduledTimer] = []
        while let first = heap.first, first.deadline <= now {
            due.append(first.timer)
            heap.swapAt(0, heap.count - 1)
            heap.removeLast()
            siftDown(0)
        }
        return due
    }

    private mutating func removeCancelled() {
        heap.removeAll { !$0.timer.isPending }
        for index in stride(from: heap.count / 2, through: 0, by: -1) { siftDown(index) }
        sweepThreshold = max(64, heap.count * 2)
    }

    private mutating func siftDown(_ start: Int) {
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
