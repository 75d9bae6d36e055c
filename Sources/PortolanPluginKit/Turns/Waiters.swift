// SPDX-License-Identifier: Apache-2.0

/// What a suspended client call waits for.
enum WaitReason: Hashable {
    /// The reader is to be ready again.
    case resume
    /// Something that said PORTOLAN_WAIT may be there: a later call of `woken` than that number.
    case woken(after: UInt64)
    case answer
}

/// One wait of one task; of it there is one resumption, whoever is first.
@safe
final class Waiter: @unchecked Sendable {  // … because it is touched only in a turn, or when nobody else has it
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

/// The calls of one load that are suspended.
struct Waiters {
    private var waiting: [(reason: WaitReason, waiter: Waiter)] = []

    mutating func add(_ waiter: Waiter, until reason: WaitReason) {
        waiting.append((reason, waiter))
    }

    mutating func remove(_ waiter: Waiter) {
        waiting.removeAll { $0.waiter === waiter }
    }

    /// Resumes those whose reason `isOver`, in the order in which they came.
    mutating func resume(where isOver: (WaitReason) -> Bool) {
        guard !waiting.isEmpty else { return }
        let (over, rest) = (waiting.filter { isOver($0.reason) }, waiting.filter { !isOver($0.reason) })
        waiting = rest
        for wait in over { wait.waiter.resume() }
    }
}
