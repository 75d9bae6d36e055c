// SPDX-License-Identifier: Apache-2.0

/// The reason why a client call is suspended.
enum WaitReason: Hashable {
    /// The consumer is not ready.
    case resume
    /// A call returned PORTOLAN_WAIT. Wait until `woken` has been called more often than `after`.
    case woken(after: UInt64)
    case answer
}

/// One wait of one task. It is resumed once, by the first event that ends the wait.
@safe
final class Waiter: @unchecked Sendable {  // … because it is touched only inside a host call, or while nothing else has it
    private var continuation: UnsafeContinuation<Void, Never>?
    private(set) var isOver = false

    func wait(_ continuation: UnsafeContinuation<Void, Never>) {
        unsafe self.continuation = unsafe continuation
    }

    func resume() {
        isOver = true
        unsafe continuation?.resume()
        unsafe continuation = nil
    }
}

/// The suspended calls of one load.
struct Waiters {
    private var waiting: [(reason: WaitReason, waiter: Waiter)] = []

    mutating func add(_ waiter: Waiter, until reason: WaitReason) {
        waiting.append((reason, waiter))
    }

    mutating func remove(_ waiter: Waiter) {
        waiting.removeAll { $0.waiter === waiter }
    }

    /// Resumes the waiters whose reason `isOver`, in the order in which they were added.
    mutating func resume(where isOver: (WaitReason) -> Bool) {
        guard !waiting.isEmpty else { return }
        let (over, rest) = (waiting.filter { isOver($0.reason) }, waiting.filter { !isOver($0.reason) })
        waiting = rest
        for wait in over { wait.waiter.resume() }
    }
}
