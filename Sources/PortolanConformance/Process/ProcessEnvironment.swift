// SPDX-License-Identifier: Apache-2.0

// The module whose header includes signal.h first owns `sigaction` and `sigset_t` for the compiler; it may be this one.
import CThreadTrace
import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What all code of a process shares, and a plugin has to leave as it found it.
struct ProcessEnvironment: Hashable, Sendable {
    var environment: [String: String]
    var workingFolder: String
    var umask: mode_t
    var locale: String
    /// Of the calling thread.
    var thread: ThreadEnvironment
    /// The address of each signal's handler; 0 for what the system does by itself.
    var signalHandlers: [Int32: UInt]

    static func taken() -> Self {
        let mask = Glibc.umask(0)
        _ = Glibc.umask(mask)
        return Self(
            environment: ProcessInfo.processInfo.environment,
            workingFolder: FileManager.default.currentDirectoryPath,
            umask: mask,
            locale: unsafe setlocale(LC_ALL, nil).map { unsafe String(cString: $0) } ?? "",
            thread: .taken(),
            signalHandlers: Self.handlers())
    }

    fileprivate static let signals: ClosedRange<Int32> = 1...31

    private static func handlers() -> [Int32: UInt] {
        var found: [Int32: UInt] = [:]
        for signal in signals {
            var action = sigaction()
            guard unsafe sigaction(signal, nil, &action) == 0 else { continue }
            // The handler's address comes first, whichever of its two types it has (`sigaction(2)`).
            found[signal] = unsafe withUnsafeBytes(of: &action) { unsafe $0.load(as: UInt.self) }
        }
        return found
    }

    /// Those whose handler is another.
    func signals(handledOtherwiseThan before: Self) -> [Int32] {
        Self.signals.filter { signalHandlers[$0] != before.signalHandlers[$0] }
    }

    /// What is another now: one line each.
    func changes(since before: Self) -> [String] {
        var changes: [String] = []
        let names = Set(environment.keys).union(before.environment.keys).filter { environment[$0] != before.environment[$0] }
        if !names.isEmpty { changes.append("the environment changed: \(names.sorted().joined(separator: ", "))") }
        if workingFolder != before.workingFolder { changes.append("the working folder is now '\(workingFolder)'") }
        if umask != before.umask {
            changes.append("the umask is now 0\(String(umask, radix: 8)), and was 0\(String(before.umask, radix: 8))")
        }
        if locale != before.locale { changes.append("the locale is now '\(locale)', and was '\(before.locale)'") }
        changes += thread.changes(since: before.thread)
        let handled = signals(handledOtherwiseThan: before)
        if !handled.isEmpty { changes.append("the handlers of signals changed: \(handled.map(String.init).joined(separator: ", "))") }
        return changes
    }
}

/// What a thread has of its own, and its next user finds.
struct ThreadEnvironment: Hashable, Sendable {
    let rounding: Int32
    let blockedSignals: Set<Int32>
    /// Which one it is (`uselocale(3)`).
    let locale: Int

    static func taken() -> Self {
        var mask = sigset_t()
        unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
        return Self(
            rounding: fegetround(), blockedSignals: Set(ProcessEnvironment.signals.filter { unsafe sigismember(&mask, $0) == 1 }),
            locale: unsafe Int(bitPattern: uselocale(nil)))
    }

    /// What is another now: one line each.
    func changes(since before: Self) -> [String] {
        var changes: [String] = []
        if rounding != before.rounding { changes.append("the rounding mode changed") }
        let masked = blockedSignals.symmetricDifference(before.blockedSignals)
        if !masked.isEmpty { changes.append("the signal mask changed: \(masked.sorted().map(String.init).joined(separator: ", "))") }
        if locale != before.locale { changes.append("the thread's locale changed") }
        return changes
    }
}
