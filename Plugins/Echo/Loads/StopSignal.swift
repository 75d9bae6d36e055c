// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Lets one thread wait, and another end the wait (`pthread_cond_timedwait(3p)`, on the monotonic clock).
// @unchecked Sendable … because `isSet` is touched only between lock and unlock; @safe because nothing unsafe leaves it.
@safe
final class StopSignal: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var isSet = false

    init() {
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

    /// Ends every wait, also those to come. Any thread.
    func set() {
        unsafe pthread_mutex_lock(mutex)
        isSet = true
        unsafe pthread_cond_broadcast(condition)
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Waits so long, or until the signal is set: then it throws.
    func wait(_ time: Duration) throws(Interruption) {
        guard time > .zero else { return }
        let (seconds, attoseconds) = time.components
        var deadline = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &deadline)
        let nanoseconds = deadline.tv_nsec + Int(attoseconds / 1_000_000_000)
        deadline.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
        deadline.tv_nsec = nanoseconds % 1_000_000_000
        try wait(until: deadline)
    }

    /// Waits until the signal is set, and throws.
    func waitForStop() throws(Interruption) -> Never {
        while true { try wait(until: nil) }
    }

    private func wait(until deadline: timespec?) throws(Interruption) {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        while !isSet {
            if var deadline {
                if unsafe pthread_cond_timedwait(condition, mutex, &deadline) == ETIMEDOUT, !isSet { return }
            } else {
                unsafe pthread_cond_wait(condition, mutex)
            }
        }
        throw .stopped
    }
}
