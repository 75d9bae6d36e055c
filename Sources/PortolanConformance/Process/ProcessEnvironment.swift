// SPDX-License-Identifier: Apache-2.0

// For the compiler, `sigaction` and `sigset_t` belong to the module whose header includes signal.h first. It may be the
// first of these modules.
import CPluginObservation
import FoundationEssentials

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// State that all code of a process shares. A plugin must leave it unchanged.
struct ProcessEnvironment: Hashable, Sendable {
    var environment: [String: String]
    var workingFolder: String
    var umask: mode_t
    var locale: String
    /// The state of the calling thread.
    var thread: ThreadEnvironment
    /// The address of each signal's handler; 0 is the system's default.
    var signalHandlers: [Int32: UInt]

    static func current() -> Self {
        let mask = Glibc.umask(0)
        _ = Glibc.umask(mask)
        return Self(
            environment: ProcessInfo.processInfo.environment,
            workingFolder: FileManager.default.currentDirectoryPath,
            umask: mask,
            locale: unsafe setlocale(LC_ALL, nil).map { unsafe String(cString: $0) } ?? "",
            thread: .current(),
            signalHandlers: Self.handlers())
    }

    fileprivate static let signals: ClosedRange<Int32> = 1...31

    private static func handlers() -> [Int32: UInt] {
        var handlers: [Int32: UInt] = [:]
        for signal in signals {
            var action = sigaction()
            guard unsafe sigaction(signal, nil, &action) == 0 else { continue }
            // The handler's address comes first, for either of its two types (`sigaction(2)`).
            handlers[signal] = unsafe withUnsafeBytes(of: &action) { unsafe $0.load(as: UInt.self) }
        }
        return handlers
    }

    /// The signals whose handler differs.
    func signals(handledOtherwiseThan before: Self) -> [Int32] {
        Self.signals.filter { signalHandlers[$0] != before.signalHandlers[$0] }
    }

    /// The differences; one line each.
    func changes(since before: Self) -> [String] {
        var changes: [String] = []
        let changedNames = Set(environment.keys).union(before.environment.keys).filter { environment[$0] != before.environment[$0] }
        if !changedNames.isEmpty { changes.append("the environment changed: \(changedNames.sorted().joined(separator: ", "))") }
        if workingFolder != before.workingFolder { changes.append("the working folder is now '\(workingFolder)'") }
        if umask != before.umask {
            changes.append("the umask is now 0\(String(umask, radix: 8)), and was 0\(String(before.umask, radix: 8))")
        }
        if locale != before.locale { changes.append("the locale is now '\(locale)', and was '\(before.locale)'") }
        changes += thread.changes(since: before.thread)
        let changedSignals = signals(handledOtherwiseThan: before)
        if !changedSignals.isEmpty {
            changes.append("the handlers of signals changed: \(changedSignals.map(String.init).joined(separator: ", "))")
        }
        return changes
    }
}

/// The state of a thread that its next user inherits.
struct ThreadEnvironment: Hashable, Sendable {
    let roundingMode: Int32
    let blockedSignals: Set<Int32>
    /// The identity of the thread's locale (`uselocale(3)`).
    let locale: Int

    static func current() -> Self {
        var mask = sigset_t()
        unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
        return Self(
            roundingMode: fegetround(), blockedSignals: Set(ProcessEnvironment.signals.filter { unsafe sigismember(&mask, $0) == 1 }),
            locale: unsafe Int(bitPattern: uselocale(nil)))
    }

    /// The differences; one line each.
    func changes(since before: Self) -> [String] {
        var changes: [String] = []
        if roundingMode != before.roundingMode { changes.append("the rounding mode changed") }
        let changedSignals = blockedSignals.symmetricDifference(before.blockedSignals)
        if !changedSignals.isEmpty {
            changes.append("the signal mask changed: \(changedSignals.sorted().map(String.init).joined(separator: ", "))")
        }
        if locale != before.locale { changes.append("the thread's locale changed") }
        return changes
    }
}
