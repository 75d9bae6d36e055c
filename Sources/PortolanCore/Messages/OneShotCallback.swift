// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A callback for one answer. It is called once, with the first answer, and not while it is held.
final class OneShotCallback<Value: Sendable>: Sendable {
    private struct State {
        var callback: (@Sendable (Value) -> Void)?
        /// The number of holds. A handler load inside another one also holds the callback.
        var holds = 0
        var answer: Value?

        mutating func take() -> (@Sendable () -> Void)? {
            guard holds == 0, let answer, let callback else { return nil }
            self.callback = nil
            return { callback(answer) }
        }
    }

    private let state: Mutex<State>
    private let fallback: Value?

    /// - Parameter fallback: the answer if the callback is released without one.
    init(_ callback: @escaping @Sendable (Value) -> Void, fallback: Value? = nil) {
        state = Mutex(State(callback: callback))
        self.fallback = fallback
    }

    deinit {
        if let fallback { answer(fallback) }
    }

    func answer(_ answer: Value) {
        state.withLock { state in
            if state.answer == nil { state.answer = answer }
            return state.take()
        }?()
    }

    /// Defers an answer until each ``hold()`` has its ``release()``. A load that continues inside the callback must not
    /// do so inside the call that requested the answer.
    func hold() {
        state.withLock { $0.holds += 1 }
    }

    func release() {
        state.withLock { state in
            state.holds -= 1
            return state.take()
        }?()
    }
}
