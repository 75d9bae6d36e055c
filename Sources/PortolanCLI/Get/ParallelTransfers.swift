// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Loads several URLs at the same time (`-Z`).
enum ParallelTransfers {
    private struct State {
        var rest: ArraySlice<GetTransfer>
        var runningCount: Int
        var failures: [Int: Failure] = [:]
        var isOver = false
    }

    /// Loads the URLs on several threads, and blocks until all loads have ended.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of loads at the same time, each on its own thread.
    ///   - endsAfterFailure: whether the first failure ends all loads.
    ///   - cancel: cancels the running loads after this failure.
    ///   - load: loads one URL.
    /// - Returns: The failures, in the order of the URLs, without those of cancelled loads.
    /// - Throws: ``Failure`` if no thread can be started.
    static func run(
        _ transfers: [GetTransfer], atMost limit: Int, endsAfterFailure: Bool, cancel: @escaping @Sendable (Failure) -> Void,
        _ load: @escaping @Sendable (GetTransfer) -> Failure?
    ) throws(Failure) -> [Failure] {
        let threadCount = min(limit, transfers.count)
        let state = ConditionLock(State(rest: transfers[...], runningCount: threadCount))
        let work = { @Sendable in
            while let transfer = state.withLock({ $0.isOver ? nil : $0.rest.popFirst() }) {
                guard let failure = load(transfer) else { continue }
                let mustCancel = state.withLock { state in
                    if state.isOver, endsAfterFailure { return false }
                    state.failures[transfer.number] = failure
                    state.isOver = state.isOver || endsAfterFailure || failure == .readerClosedOutput
                    return endsAfterFailure
                }
                if mustCancel { cancel(failure) }
            }
            state.withLockBroadcasting { $0.runningCount -= 1 }
        }
        for index in 0..<threadCount {
            do throws(LoadError) { try PlatformThread.start(work) } catch {
                guard index == 0 else {
                    // The other threads load the rest.
                    state.withLockBroadcasting { $0.runningCount -= threadCount - index }
                    break
                }
                throw Failure(error)
            }
        }
        return state.wait { $0.runningCount == 0 ? $0.failures.sorted { $0.key < $1.key }.map(\.value) : nil }
    }
}
