// SPDX-License-Identifier: Apache-2.0

import CThreadTrace
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What SIGINT, SIGTERM and SIGHUP do to a process that judges: its keepers end what they have begun, its folder goes, and then the process ends, with 128
/// and the signal's number as its status.
enum JudgeSignals {
    private static let numbers = [SIGINT, SIGTERM, SIGHUP]
    private static let room = 128

    /// Pairs of a keeper's process and the descriptor that it waits at; 0 for none. Then the folder's descriptor and process.
    // … because a handler of signals can look at nothing else, and only the one thread of the judge changes them
    nonisolated(unsafe) private static var keepers = UnsafeMutablePointer<(process: pid_t, orders: Int32)>.allocate(capacity: room)
    nonisolated(unsafe) private static var folder: (life: Int32, remover: pid_t) = (-1, 0)
    nonisolated(unsafe) private static var before: [(number: Int32, action: sigaction)] = []

    /// From now on the signals do that. Those that are ignored stay so, as nohup(1) wants it.
    static func observe(_ folder: RunFolder) {
        unsafe keepers.initialize(repeating: (0, -1), count: room)
        unsafe Self.folder = (folder.life, folder.remover)
        for number in numbers {
            var (action, old) = (sigaction(), sigaction())
            unsafe action.__sigaction_handler.sa_handler = { JudgeSignals.end($0) }
            unsafe sigfillset(&action.sa_mask)
            guard unsafe sigaction(number, nil, &old) == 0 else { continue }
            let isIgnored = unsafe unsafeBitCast(old.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
            guard !isIgnored, unsafe sigaction(number, &action, nil) == 0 else { continue }
            unsafe before.append((number, old))
        }
    }

    /// The signals do again what they did before.
    static func restore() {
        for index in unsafe before.indices { unsafe sigaction(before[index].number, &before[index].action, nil) }
        unsafe before = []
    }

    static func add(process: pid_t, orders: Int32) {
        for index in 0..<room where unsafe keepers[index].process == 0 {
            unsafe keepers[index] = (process, orders)
            return
        }
    }

    static func remove(process: pid_t) {
        for index in 0..<room where unsafe keepers[index].process == process { unsafe keepers[index] = (0, -1) }
    }

    /// Runs `body` while no signal comes through.
    static func holdingBack<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        var (all, old) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, &old)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &old, nil) }
        return try body()
    }

    /// No signal comes through to this thread, but those that nothing can hold back.
    static func blockAll() {
        var all = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
    }

    /// Does only what is safe in a handler of signals (`signal-safety(7)`).
    private static func end(_ number: Int32) {
        for index in 0..<room where unsafe keepers[index].process > 0 { unsafe Keeper.stop(keepers[index].process, keepers[index].orders) }
        var status: Int32 = 0
        for index in 0..<room where unsafe keepers[index].process > 0 { unsafe waitpid(keepers[index].process, &status, 0) }
        // Then the folder's process is the last to know of the run.
        unsafe close(folder.life)
        unsafe waitpid(folder.remover, &status, 0)
        _exit(128 + number)
    }
}
