// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Calls `body` with SIGPIPE and SIGXFSZ blocked, so that a write returns EPIPE or EFBIG instead of ending the process.
/// Removes a signal that the write has raised, because the thread can belong to the program.
///
/// sendfile(2) has no MSG_NOSIGNAL. SIGXFSZ reports a file at its size limit (setrlimit(2)).
func withoutWriteSignals<Value>(_ body: () -> Value) -> Value {
    let numbers = [SIGPIPE, SIGXFSZ]
    var (blocked, before, pending) = (sigset_t(), sigset_t(), sigset_t())
    unsafe sigemptyset(&blocked)
    for number in numbers { unsafe sigaddset(&blocked, number) }
    unsafe pthread_sigmask(SIG_BLOCK, &blocked, &before)
    unsafe sigpending(&pending)
    let pendingBefore = numbers.filter { unsafe sigismember(&pending, $0) == 1 }
    let result = body()
    unsafe sigpending(&pending)
    for number in numbers where !pendingBefore.contains(number) && (unsafe sigismember(&pending, number)) == 1 {
        var (only, noTimeout) = (sigset_t(), timespec())
        unsafe sigemptyset(&only)
        unsafe sigaddset(&only, number)
        while unsafe sigtimedwait(&only, nil, &noTimeout) < 0, errno == EINTR {}
    }
    unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
    return result
}
