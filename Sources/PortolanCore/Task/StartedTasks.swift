// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The tasks of a loader that were started, and whose delegates have not received their end. The list retains the
/// running tasks.
///
/// A suspended or paused task is retained only by its caller, because only the caller can resume it.
final class StartedTasks: Sendable {
    private enum Entry {
        case retained(LoadTask)
        case released(WeakTask)

        var task: LoadTask? {
            switch self {
            case .retained(let task): task
            case .released(let reference): reference.task
            }
        }
    }

    private struct WeakTask {
        weak let task: LoadTask?
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var isInvalid = false
        /// Whether the loader is invalid, and no task is left.
        var hasEnded = false
        /// Whether all completions have returned.
        var hasReportedEnd = false
        /// Called in order, when the loader has ended.
        var completions: [@Sendable () -> Void] = []

        /// - Returns: whether the loader has just ended.
        mutating func end() -> Bool {
            guard isInvalid, entries.isEmpty, !hasEnded else { return false }
            hasEnded = true
            return true
        }
    }

    private let state = Mutex(State())
    private let lastIdentifier = Atomic(0)

    func makeIdentifier() -> Int { lastIdentifier.add(1, ordering: .relaxed).newValue }

    enum Admission {
        case accepted
        /// The loader is invalid, so that the task must end.
        case refused
        /// The same, and the loader's delegate has received the loader's end.
        case refusedAfterEnd
    }

    /// Adds a task that is being started. A nested task is accepted even if the loader is invalid, because its parent
    /// was started before, unless the loader has ended.
    func add(_ task: LoadTask) -> Admission {
        let isNested = task.nestingDepth > 0
        return state.withLock { state in
            guard !state.hasEnded else { return .refusedAfterEnd }
            state.entries[task.identifier] = .retained(task)
            return state.isInvalid && !isNested ? .refused : .accepted
        }
    }

    func setRetained(_ isRetained: Bool, _ task: LoadTask) {
        state.withLock { state in
            guard state.entries[task.identifier] != nil else { return }
            state.entries[task.identifier] = isRetained ? .retained(task) : .released(WeakTask(task: task))
        }
    }

    /// Has no effect if the task is not in the list.
    func remove(_ identifier: Int) {
        // Released outside the lock, because the release can destroy the task, which removes itself.
        let (_, hasEnded) = state.withLock { state in (state.entries.removeValue(forKey: identifier), state.end()) }
        if hasEnded { reportEnd() }
    }

    /// Whether the task was started and its delegate has not received its end.
    func contains(_ identifier: Int) -> Bool { state.withLock { $0.entries[identifier] != nil } }

    /// The tasks, the oldest first.
    var tasks: [LoadTask] {
        state.withLock { state in state.entries.values.compactMap(\.task) }.sorted { $0.identifier < $1.identifier }
    }

    var isInvalid: Bool { state.withLock { $0.isInvalid } }

    /// Makes the loader invalid: no task can start any more.
    ///
    /// - Parameter completion: called when the last task has ended. Has no effect if the loader is invalid already.
    func invalidate(_ completion: @escaping @Sendable () -> Void) {
        let hasEnded = state.withLock { state in
            guard !state.isInvalid else { return false }
            state.isInvalid = true
            state.completions.insert(completion, at: 0)
            return state.end()
        }
        if hasEnded { reportEnd() }
    }

    /// Calls `completion` when the loader has ended, after the completion of ``invalidate(_:)`` has returned.
    func whenEnded(_ completion: @escaping @Sendable () -> Void) {
        let hasReportedEnd = state.withLock { state in
            if !state.hasReportedEnd { state.completions.append(completion) }
            return state.hasReportedEnd
        }
        if hasReportedEnd { completion() }
    }

    private func reportEnd() {
        while true {
            let completion = state.withLock { state -> (@Sendable () -> Void)? in
                if state.completions.isEmpty { state.hasReportedEnd = true }
                return state.completions.isEmpty ? nil : state.completions.removeFirst()
            }
            guard let completion else { return }
            completion()
        }
    }
}
