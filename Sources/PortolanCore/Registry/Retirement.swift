// SPDX-License-Identifier: Apache-2.0

/// Tells when the last load of the handlers that were taken out has ended.
public struct Retirement: Sendable {
    let entries: [RegisteredHandler]

    public var isFinished: Bool { entries.allSatisfy(\.isIdleForGood) }

    /// Calls `body` once, when the last load has ended; at once, if it has already. On the thread of that load's end.
    public func whenFinished(_ body: @escaping @Sendable () -> Void) {
        guard let first = entries.first else { return body() }
        let rest = Retirement(entries: Array(entries.dropFirst()))
        // One after another: each is idle for good, so the order in which they end does not matter.
        first.whenIdleForGood { rest.whenFinished(body) }
    }

    public func finished() async {
        await withCheckedContinuation { continuation in
            whenFinished { continuation.resume() }
        }
    }
}
