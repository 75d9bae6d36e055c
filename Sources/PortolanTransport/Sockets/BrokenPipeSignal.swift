// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// sendfile(2) knows no MSG_NOSIGNAL, and the thread may be the caller's own: SIGPIPE is blocked meanwhile, and taken back where it came, as it does
/// also where some bytes were sent before.
func withoutBrokenPipeSignal<Value>(_ body: () -> Value) -> Value {
    var (pipe, before, pending) = (sigset_t(), sigset_t(), sigset_t())
    unsafe sigemptyset(&pipe)
    unsafe sigaddset(&pipe, SIGPIPE)
    unsafe pthread_sigmask(SIG_BLOCK, &pipe, &before)
    let wasBlocked = unsafe sigismember(&before, SIGPIPE) == 1
    unsafe sigpending(&pending)
    let wasPending = unsafe sigismember(&pending, SIGPIPE) == 1
    let outcome = body()
    unsafe sigpending(&pending)
    if !wasPending, unsafe sigismember(&pending, SIGPIPE) == 1 {
        var atOnce = timespec()
        while unsafe sigtimedwait(&pipe, nil, &atOnce) < 0, errno == EINTR {}
    }
    if !wasBlocked { unsafe pthread_sigmask(SIG_UNBLOCK, &pipe, nil) }
    return outcome
}
