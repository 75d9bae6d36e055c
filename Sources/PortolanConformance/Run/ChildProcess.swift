// SPDX-License-Identifier: Apache-2.0

import CThreadTrace
import PortolanCore
import PortolanPlugins
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The process of one check, made by `fork(2)` from a keeper: what the plugin does to it, it does to nothing else.
enum ChildProcess {
    /// The status of a process that came to its end, and of ones that did not.
    static let (endedStatus, noResultStatus, threadEndedStatus): (Int32, Int32, Int32) = (0, 123, 124)

    /// What is there for standard input, output and error leads nowhere from now on.
    static func closeStreams() {
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] { dup2(null, number) }
        close(null)
    }

    /// Makes the check, leaves its result, and is gone without more of the plugin's code being called.
    static func run(
        _ runner: ConformanceRunner, _ check: ConformanceCheck, _ callLog: CallLog, _ result: SealedResult, _ key: ResultKey,
        supervisor: pid_t
    ) -> Never {
        // Its own group: what the plugin sends to its group does not reach the keeper.
        setpgid(0, 0)
        _ = portolan_signal_at_end_of_parent(SIGKILL)
        guard getppid() == supervisor else { _exit(noResultStatus) }
        // The judge and its keepers are closed to others; this process is the plugin's to look at.
        _ = portolan_set_open_to_others(1)
        result.close()
        LibraryCopy.parent.withLock { $0 = runner.folder?.path }
        let process = getpid()
        let isShort = isShortOfResources
        // On a thread that has begun in this process: Swift's Mutex notes the number of a thread at its first use, and this one's is the parent's.
        do throws(LoadError) {
            try PlatformThread.start(stackSize: 8 << 20) {
                unblockSignals()
                // A handler, where it is ignored by now: a plugin that has it ignored changes something then. A library that is built in may.
                if runner.target.library != nil { signal(SIGPIPE) { _ in } }
                let callLog = callLog.restarted()
                CrashReport.arm(callLog)
                noteEndOfThread()
                checkThread.store(portolan_thread_number(), ordering: .relaxed)
                guard !isShort else { leave(short("the system gives no memory or no file", of: check), result, key, process) }
                leave(runner.result(of: check, callLog, isSupervised: true), result, key, process)
            }
        } catch {
            leave(short(error.message, of: check), result, key, process)
        }
        // What is sent to the process is the other's to hear.
        RunnerSignals.blockAll()
        while true {
            usleep(100_000)
            // A thread that the plugin ends by exit(2) runs nothing at its end.
            let thread = checkThread.load(ordering: .relaxed)
            if thread != 0, portolan_signal_thread(thread, 0) != 0, errno == ESRCH { _exit(threadEndedStatus) }
        }
    }

    /// The thread that makes the check; 0: it has not begun.
    private static let checkThread = Atomic<Int32>(0)

    /// Whether a check would lack memory or files from its start.
    private static var isShortOfResources: Bool {
        let size = 4 << 20
        let memory = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory = unsafe memory, unsafe memory != MAP_FAILED else { return true }
        unsafe munmap(memory, size)
        let files = (0..<4).map { _ in unsafe open("/dev/null", O_RDWR | O_CLOEXEC) }
        defer { for file in files where file >= 0 { close(file) } }
        return files.contains { $0 < 0 }
    }

    private static func short(_ reason: String, of check: ConformanceCheck) -> CheckResult {
        var result = CheckResult(check.rule, .skipped, note: reason)
        result.lack = .fromTheStart
        return result
    }

    private static func unblockSignals() {
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe pthread_sigmask(SIG_SETMASK, &none, nil)
    }

    /// Ends the process where the plugin ends this thread, which calls it (`pthread_exit(3)`).
    private static func noteEndOfThread() {
        var key = pthread_key_t()
        guard unsafe pthread_key_create(&key, { _ in _exit(ChildProcess.threadEndedStatus) }) == 0 else { return }
        // Its value only has to be one.
        unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    }

    private static func leave(_ found: CheckResult, _ result: SealedResult, _ key: ResultKey, _ process: pid_t) -> Never {
        // A copy of the process that the plugin has made (`fork(2)`) may come to this place, too.
        guard getpid() == process, result.leave(found.childBytes, for: found.rule, key) else { _exit(noResultStatus) }
        _exit(endedStatus)
    }
}
