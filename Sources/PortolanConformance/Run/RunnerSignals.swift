// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Handles SIGINT, SIGTERM and SIGHUP in the runner's process. The supervisors of checks and of servers end their
/// processes, the folder is removed, and the process exits with the status 128 plus the signal's number.
enum RunnerSignals {
    private static let numbers = [SIGINT, SIGTERM, SIGHUP]
    private static let capacity = 128

    /// The process ID of each supervisor (0 in an unused entry), and the descriptor of the pipe whose end it
    /// waits for.
    // … because a signal handler can access nothing else, and only the runner's one thread changes them
    nonisolated(unsafe) private static var supervisors = {
        let entries = UnsafeMutablePointer<(processID: pid_t, orderWriteEnd: Int32)>.allocate(capacity: capacity)
        unsafe entries.initialize(repeating: (0, -1), count: capacity)
        return unsafe entries
    }()
    nonisolated(unsafe) private static var folder: (lifeDescriptor: Int32, remover: pid_t) = (-1, 0)
    nonisolated(unsafe) private static var previousActions: [(number: Int32, action: sigaction)] = []

    /// Installs the handlers. Ignored signals stay ignored, as nohup(1) requires.
    static func observe(_ folder: RunFolder) {
        // A signal handler must not be the first that uses the entries.
        unsafe _ = supervisors
        unsafe Self.folder = (folder.lifeDescriptor, folder.remover)
        for number in numbers {
            var (action, old) = (sigaction(), sigaction())
            unsafe action.__sigaction_handler.sa_handler = { RunnerSignals.end($0) }
            unsafe sigfillset(&action.sa_mask)
            guard unsafe sigaction(number, nil, &old) == 0 else { continue }
            let isIgnored = unsafe unsafeBitCast(old.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
            guard !isIgnored, unsafe sigaction(number, &action, nil) == 0 else { continue }
            unsafe previousActions.append((number, old))
        }
    }

    /// Restores the previous handlers.
    static func restore() {
        for index in unsafe previousActions.indices { unsafe sigaction(previousActions[index].number, &previousActions[index].action, nil) }
        unsafe previousActions = []
    }

    static func add(processID: pid_t, orderWriteEnd: Int32) {
        for index in 0..<capacity where unsafe supervisors[index].processID == 0 {
            unsafe supervisors[index] = (processID, orderWriteEnd)
            return
        }
    }

    static func remove(processID: pid_t) {
        for index in 0..<capacity where unsafe supervisors[index].processID == processID { unsafe supervisors[index] = (0, -1) }
    }

    /// Runs `action` with all signals blocked.
    static func withSignalsBlocked<Result, Failure: Error>(_ action: () throws(Failure) -> Result) throws(Failure) -> Result {
        var (all, old) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, &old)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &old, nil) }
        return try action()
    }

    /// Blocks all signals that can be blocked on this thread.
    static func blockAll() {
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    }

    /// Uses only functions that are safe in a signal handler (`signal-safety(7)`).
    private static func end(_ number: Int32) {
        for index in 0..<capacity where unsafe supervisors[index].processID > 0 {
            unsafe SupervisorHandle.requestTermination(supervisors[index].processID, supervisors[index].orderWriteEnd)
        }
        var status: Int32 = 0
        for index in 0..<capacity where unsafe supervisors[index].processID > 0 {
            unsafe waitpid(supervisors[index].processID, &status, 0)
        }
        // The supervisors have ended, so closing the descriptor ends the run, and the remover removes the folder.
        unsafe close(folder.lifeDescriptor)
        unsafe waitpid(folder.remover, &status, 0)
        _exit(128 + number)
    }
}
