// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Handles the signals that request the end of the program, on a separate thread instead of in a signal handler.
enum SignalHandler {
    /// Calls `handleSignal` for each SIGINT, SIGTERM and SIGHUP. A signal that the parent process ignores stays
    /// ignored, as nohup(1) requires.
    ///
    /// Call this function once, before other threads exist, because new threads inherit the signal mask.
    static func observe(_ handleSignal: @escaping @Sendable (ExitStatus) -> Void) throws(Failure) {
        ignoreClosedPipes()
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(signal) { unsafe sigaddset(&signals, signal) }
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
        let awaitedSignals = signals
        do throws(LoadError) {
            try PlatformThread.start {
                var awaitedSignals = awaitedSignals
                var signal: Int32 = 0
                while unsafe sigwait(&awaitedSignals, &signal) == 0 { handleSignal(status(of: signal)) }
            }
        } catch {
            throw Failure(error)
        }
    }

    /// Runs `action` on a separate thread, because the calling thread must end the program, and `action` can block. A
    /// load's `cancel()` runs code of plugins, for example.
    static func runOnSeparateThread(_ action: @escaping @Sendable () -> Void) {
        // `try?` because the program ends soon in either case.
        try? PlatformThread.start(action)
    }

    /// Makes a write to a closed pipe fail instead of ending the program.
    static func ignoreClosedPipes() {
        _ = signal(SIGPIPE, SIG_IGN)
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

extension ExitStatus {
    /// Ends the program immediately, from any thread. exit(3) would wait for a thread that blocks in a write;
    /// `_exit(2)` loses nothing, because the program buffers no output.
    func exitNow() -> Never {
        _exit(code)
    }
}
