// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A callback for one answer: called once, by whoever answers first, and not while it is held back.
final class OneShotCallback<Value: Sendable>: Sendable {
    private struct State {
        var callback: (@Sendable (Value) -> Void)?
        /// How many hold it back: an attempt inside another one does, too.
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

    /// - Parameter fallback: the answer where everybody lets go of the question without one.
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

    /// Keeps an answer back until the ``release()`` of each that did so: a load that goes on inside the callback must not do so inside the call that asked.
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
