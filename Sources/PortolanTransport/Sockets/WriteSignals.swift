// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Calls `body` with SIGPIPE and SIGXFSZ blocked, so that a write returns EPIPE or EFBIG instead of ending the process.
///
/// If the write raises one of these signals, the function consumes it before it restores the signal mask. Otherwise the
/// signal could end the process. A signal that was pending before stays pending.
///
/// send(2) has MSG_NOSIGNAL, but sendfile(2) and write(2) have no such flag. The kernel sends SIGXFSZ if a write would
/// exceed the process's RLIMIT_FSIZE (setrlimit(2)).
package func withWriteSignalsBlocked<Value>(_ body: () -> Value) -> Value {
    let numbers = [SIGPIPE, SIGXFSZ]
    var (blockedSignals, previousMask, pendingSignals) = (sigset_t(), sigset_t(), sigset_t())
    unsafe sigemptyset(&blockedSignals)
    for number in numbers { unsafe sigaddset(&blockedSignals, number) }
    unsafe pthread_sigmask(SIG_BLOCK, &blockedSignals, &previousMask)
    unsafe sigpending(&pendingSignals)
    let pendingBefore = numbers.filter { unsafe sigismember(&pendingSignals, $0) == 1 }
    let result = body()
    unsafe sigpending(&pendingSignals)
    for number in numbers where !pendingBefore.contains(number) && (unsafe sigismember(&pendingSignals, number)) == 1 {
        var (raisedSignal, noTimeout) = (sigset_t(), timespec())
        unsafe sigemptyset(&raisedSignal)
        unsafe sigaddset(&raisedSignal, number)
        while unsafe sigtimedwait(&raisedSignal, nil, &noTimeout) < 0, errno == EINTR {}
    }
    unsafe pthread_sigmask(SIG_SETMASK, &previousMask, nil)
    return result
}
