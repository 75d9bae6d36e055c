// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The signals that ask the program to end, taken in by a thread of its own instead of a signal handler.
enum SignalHandler {
    /// Has SIGINT, SIGTERM and SIGHUP call `body` from now on; signals that the parent had ignored stay ignored, as nohup(1) wants it.
    ///
    /// To be called once, before other threads exist: they inherit which signals they do not take.
    static func observe(_ body: @escaping @Sendable (ExitStatus) -> Void) throws(Failure) {
        ignoreClosedPipes()
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(signal) { unsafe sigaddset(&signals, signal) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        let awaited = signals
        do throws(LoadError) {
            try PlatformThread.start {
                var awaited = awaited
                var signal: Int32 = 0
                while unsafe sigwait(&awaited, &signal) == 0 { body(status(of: signal)) }
            }
        } catch {
            throw Failure(error)
        }
    }

    /// Has a thread of its own call `cancel`, which runs code of plugins: whoever has to end the program does not wait for it.
    static func cancelElsewhere(_ cancel: @escaping @Sendable () -> Void) {
        // `try?` because the program ends soon, cancelled or not.
        try? PlatformThread.start(cancel)
    }

    /// Makes a write to a pipe that nobody reads any more an error instead of the end of the program.
    static func ignoreClosedPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
    }

    /// Ends the program at once, from any thread: nothing waits in buffers, and another thread may hang in a write.
    static func leave(_ status: ExitStatus) -> Never {
        _exit(status.code)
    }

    private static func status(of signal: Int32) -> ExitStatus {
        switch signal {
        case SIGHUP: .hangup
        case SIGTERM: .terminated
        default: .interrupted
        }
    }

    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard unsafe sigaction(signal, nil, &action) == 0 else { return false }
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
