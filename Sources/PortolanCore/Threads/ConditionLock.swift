// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// State that is protected by a lock, with a condition variable for threads that wait for a change
/// (`pthread_cond_wait(3p)`).
///
/// For threads that may block: threads of blocking loads and of the clock, and callers that wait. All other code uses
/// `Mutex`.
// @unchecked Sendable … because `state` is used only between lock and unlock; @safe because no pointer leaves this
// type.
@safe
package final class ConditionLock<State>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state: State

    package init(_ state: sending State) {
        self.state = state
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe condition.initialize(to: pthread_cond_t())
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    package func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&state)
    }

    /// Does what ``withLock(_:)`` does, then wakes every waiting thread.
    package func withLockBroadcasting<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        let result = try withLock(body)
        unsafe pthread_cond_broadcast(condition)
        return result
    }

    /// Wakes one of the waiting threads, for a change that only one of them can use.
    package func wakeOne() {
        unsafe pthread_cond_signal(condition)
    }

    /// Waits until `body` returns a value. Calls `body` immediately, after each ``withLockBroadcasting(_:)``, and
    /// possibly at other times.
    package func wait<Result>(for body: (inout State) -> Result?) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            unsafe pthread_cond_wait(condition, mutex)
        }
    }

    /// Does what ``wait(for:)`` does, but returns `nil` after the time `limit`.
    package func wait<Result>(atMost limit: Duration, for body: (inout State) -> Result?) -> Result? {
        let deadline = MonotonicTime.now + min(max(limit, .zero), .seconds(1 << 32))
        var time = timespec(deadline)
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&state) { return result }
            if unsafe pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { return body(&state) }
        }
    }
}

/// The time of the system's monotonic clock since its origin (`CLOCK_MONOTONIC`, `clock_gettime(2)`).
package enum MonotonicTime {
    package static var now: Duration { read(CLOCK_MONOTONIC) }
    /// ``now`` with a resolution of some milliseconds. Much faster to read.
    package static var coarseNow: Duration { read(CLOCK_MONOTONIC_COARSE) }

    /// ``now`` in nanoseconds.
    package static var nanoseconds: Int64 { timespec(of: CLOCK_MONOTONIC).nanoseconds }
    /// ``coarseNow`` in nanoseconds.
    package static var coarseNanoseconds: Int64 { timespec(of: CLOCK_MONOTONIC_COARSE).nanoseconds }

    private static func read(_ clock: clockid_t) -> Duration {
        let time = timespec(of: clock)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

extension timespec {
    fileprivate init(of clock: clockid_t) {
        self.init()
        unsafe clock_gettime(clock, &self)
    }

    fileprivate var nanoseconds: Int64 { Int64(tv_sec) &* 1_000_000_000 &+ Int64(tv_nsec) }

    fileprivate init(_ time: Duration) {
        let (seconds, attoseconds) = time.components
        self.init(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    }
}
