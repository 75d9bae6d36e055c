// SPDX-License-Identifier: Apache-2.0

/// The reason why a client call is suspended.
enum WaitReason: Hashable {
    /// The reader is not ready.
    case pause
    /// A call returned PORTOLAN_WAIT. The wait ends when the host has called `woken` more than `after` times.
    case woken(after: UInt64)
    /// The answer to a challenge has not arrived.
    case answer
}

/// One suspended call. The first event that ends its wait resumes it, once.
@safe
final class Waiter: @unchecked Sendable {  // … because it is used only inside a host call, or before it is shared
    private var continuation: UnsafeContinuation<Void, Never>?
    private(set) var isResumed = false

    func wait(_ continuation: UnsafeContinuation<Void, Never>) {
        unsafe self.continuation = unsafe continuation
    }

    func resume() {
        isResumed = true
        unsafe continuation?.resume()
        unsafe continuation = nil
    }
}

/// The suspended calls of one load.
struct Waiters {
    private var suspendedCalls: [(reason: WaitReason, waiter: Waiter)] = []

    mutating func add(_ waiter: Waiter, _ reason: WaitReason) {
        suspendedCalls.append((reason, waiter))
    }

    mutating func remove(_ waiter: Waiter) {
        suspendedCalls.removeAll { $0.waiter === waiter }
    }

    /// Resumes the waiters whose reason matches, in the order in which they were added.
    mutating func resume(where matches: (WaitReason) -> Bool) {
        guard !suspendedCalls.isEmpty else { return }
        let matchingCalls = suspendedCalls.filter { matches($0.reason) }
        suspendedCalls.removeAll { matches($0.reason) }
        for call in matchingCalls { call.waiter.resume() }
    }
}
