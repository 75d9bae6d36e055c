// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Waits for the running loads of handlers that were removed from a registry.
public struct HandlerDrain: Sendable {
    let entries: [RegisteredHandler]

    /// Whether no load of the handlers runs any more.
    public var isFinished: Bool { entries.allSatisfy(\.isDrained) }

    /// Calls `completion` once when the last load has ended, on the thread on which that load ends. If no load runs any
    /// more, calls `completion` immediately.
    package func whenFinished(_ completion: @escaping @Sendable () -> Void) {
        guard !entries.isEmpty else { return completion() }
        let remaining = Countdown(entries.count)
        for entry in entries { entry.whenDrained { if remaining.decrement() == 0 { completion() } } }
    }

    /// Returns when the last load has ended.
    public func finished() async {
        await withCheckedContinuation { continuation in
            whenFinished { continuation.resume() }
        }
    }
}

private final class Countdown: Sendable {
    private let count: Atomic<Int>

    init(_ count: Int) {
        self.count = Atomic(count)
    }

    func decrement() -> Int { count.subtract(1, ordering: .acquiringAndReleasing).newValue }
}
