// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Calls `body` with SIGPIPE and SIGXFSZ blocked, so that a write returns EPIPE or EFBIG and does not end the process.
/// The thread may be the caller's own, so a signal that came is removed. A signal also comes if some bytes were written
/// before.
///
/// sendfile(2) has no MSG_NOSIGNAL. A file may be at its limit (setrlimit(2)).
func withoutWriteSignals<Value>(_ body: () -> Value) -> Value {
    let numbers = [SIGPIPE, SIGXFSZ]
    var (blocked, before, pending) = (sigset_t(), sigset_t(), sigset_t())
    unsafe sigemptyset(&blocked)
    for number in numbers { unsafe sigaddset(&blocked, number) }
    unsafe pthread_sigmask(SIG_BLOCK, &blocked, &before)
    unsafe sigpending(&pending)
    let earlier = numbers.filter { unsafe sigismember(&pending, $0) == 1 }
    let outcome = body()
    unsafe sigpending(&pending)
    for number in numbers where !earlier.contains(number) && (unsafe sigismember(&pending, number)) == 1 {
        var (only, atOnce) = (sigset_t(), timespec())
        unsafe sigemptyset(&only)
        unsafe sigaddset(&only, number)
        while unsafe sigtimedwait(&only, nil, &atOnce) < 0, errno == EINTR {}
    }
    unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    return outcome
}
