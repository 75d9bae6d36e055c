// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A callback that receives only the first answer. After ``hold()``, the answer is stored
/// until ``release()``.
final class OneShotCallback<Value: Sendable>: Sendable {
    private struct State {
        var callback: (@Sendable (Value) -> Void)?
        /// The number of calls of `hold()` without their `release()`. If a handler passes
        /// the request to the next handler, the `HandlerLoad` of each handler adds one.
        var holdCount = 0
        var answer: Value?

        /// Returns a closure that passes the stored answer to the callback, to call it without the lock; `nil` if no
        /// answer is stored or a hold remains. Removes the callback, so that it is called only once.
        mutating func takeReadyCall() -> (@Sendable () -> Void)? {
            guard holdCount == 0, let answer, let callback else { return nil }
            self.callback = nil
            return { callback(answer) }
        }
    }

    private let state: Mutex<State>
    private let fallback: Value?

    /// - Parameter fallback: the answer that `callback` receives if this object is deallocated without one.
    init(_ callback: @escaping @Sendable (Value) -> Void, fallback: Value? = nil) {
        state = Mutex(State(callback: callback))
        self.fallback = fallback
    }

    deinit {
        if let fallback { answer(fallback) }
    }

    /// Passes the answer to the callback, or stores it while the callback is held. Later answers are ignored.
    func answer(_ answer: Value) {
        state.withLock { state in
            if state.answer == nil { state.answer = answer }
            return state.takeReadyCall()
        }?()
    }

    /// Defers the answer until ``release()``, so that the load cannot continue before the call that requested the
    /// answer has returned.
    func hold() {
        state.withLock { $0.holdCount += 1 }
    }

    /// Ends a ``hold()``. If no other hold remains, passes a stored answer to the callback.
    func release() {
        state.withLock { state in
            state.holdCount -= 1
            return state.takeReadyCall()
        }?()
    }
}
