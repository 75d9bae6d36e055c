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
    ///   - endsAfterFailure: whether no load starts after a failure.
    ///   - load: loads one URL.
    /// - Returns: The failures, in the order of the URLs.
    /// - Throws: ``Failure`` if no thread can be started.
    static func run(
        _ transfers: [GetTransfer], atMost limit: Int, endsAfterFailure: Bool, _ load: @escaping @Sendable (GetTransfer) -> Failure?
    ) throws(Failure) -> [Failure] {
        let threadCount = min(limit, transfers.count)
        let state = ConditionLock(State(rest: transfers[...], runningCount: threadCount))
        let work = { @Sendable in
            while let transfer = state.withLock({ $0.isOver ? nil : $0.rest.popFirst() }) {
                guard let failure = load(transfer) else { continue }
                state.withLock { state in
                    state.failures[transfer.number] = failure
                    if endsAfterFailure || failure == .readerClosedOutput { state.isOver = true }
                }
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
