// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension LoadClock {
    /// Suspends the calling task, which then occupies no thread.
    ///
    /// - Throws: `LoadError.Code.cancelled` if the task is cancelled.
    package func sleep(for duration: Duration) async throws(LoadError) {
        let sleeper = Sleeper()
        let timer = ScheduledTimer { sleeper.wake() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if sleeper.start(continuation) { schedule(timer, at: now + duration) }
            }
        } onCancel: {
            timer.cancel()
            sleeper.wake()
        }
        if Task.isCancelled { throw LoadError(.cancelled, message: "the task that waits was cancelled") }
    }
}

/// Resumes one continuation, once.
private final class Sleeper: Sendable {
    private enum State {
        case created
        case sleeping(CheckedContinuation<Void, Never>)
        case awake
    }

    private let state = Mutex(State.created)

    /// - Returns: `false` if the sleep was ended before. Then the continuation was resumed.
    func start(_ continuation: CheckedContinuation<Void, Never>) -> Bool {
        let sleeps = state.withLock { state in
            if case .awake = state { return false }
            state = .sleeping(continuation)
            return true
        }
        if !sleeps { continuation.resume() }
        return sleeps
    }

    func wake() {
        let previous = state.withLock { state in
            defer { state = .awake }
            return state
        }
        if case .sleeping(let continuation) = previous { continuation.resume() }
    }
}
