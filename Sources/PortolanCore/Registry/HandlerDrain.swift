// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Reports when the last load of removed handlers has ended.
public struct HandlerDrain: Sendable {
    let entries: [RegisteredHandler]

    public var isFinished: Bool { entries.allSatisfy(\.isDrained) }

    /// Calls `body` once when the last load has ended, on the thread where that load ends. If it has already ended,
    /// calls `body` immediately.
    package func whenFinished(_ body: @escaping @Sendable () -> Void) {
        guard !entries.isEmpty else { return body() }
        let remaining = Countdown(entries.count)
        for entry in entries { entry.whenDrained { if remaining.reachesZero() { body() } } }
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

    func reachesZero() -> Bool { count.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 }
}
