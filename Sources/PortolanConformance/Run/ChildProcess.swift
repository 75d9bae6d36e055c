// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore
import PortolanPlugins
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The process of one check, made by `fork(2)` from a supervisor. The plugin's side effects stay in this process.
enum ChildProcess {
    /// The exit statuses of the process: the check is complete, there is no result, or the check's thread was ended.
    static let (endedStatus, noResultStatus, threadEndedStatus): (Int32, Int32, Int32) = (0, 123, 124)

    /// Redirects standard input, output and error to /dev/null.
    static func redirectStreamsToNull() {
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        for number in [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO] { dup2(null, number) }
        close(null)
    }

    /// Runs the check, stores its result, and exits without running more code of the plugin.
    static func run(
        _ runner: ConformanceRunner, _ check: ConformanceCheck, _ callLog: CallLog, _ result: SignedResult, _ key: ResultKey,
        supervisor: pid_t
    ) -> Never {
        // Its own process group, so that signals that the plugin sends to its group do not reach the supervisor.
        setpgid(0, 0)
        _ = portolan_signal_at_end_of_parent(SIGKILL)
        guard getppid() == supervisor else { _exit(noResultStatus) }
        // Other processes may not inspect the runner and its supervisors (ptrace(2)). The plugin may inspect its own
        // process.
        _ = portolan_set_open_to_others(1)
        result.close()
        LibraryCopy.parent.withLock { $0 = runner.folder?.path }
        let process = getpid()
        let lacksResources = isShortOfResources
        // Runs the check on a thread that starts in this process: Swift's Mutex stores a thread's number at its first
        // use, and the number that the main thread stored is the parent's.
        do throws(LoadError) {
            try PlatformThread.start(stackSize: 8 << 20) {
                unblockSignals()
                // SIGPIPE is ignored by now. The check of a library replaces that by an empty signal handler, so that
                // it can notice that the plugin ignores SIGPIPE. A protocol handler of this process, which has no
                // library, may ignore SIGPIPE.
                if runner.target.library != nil { signal(SIGPIPE) { _ in } }
                let callLog = callLog.restarted()
                CrashReport.installHandlers(callLog)
                exitWhenThreadEnds()
                checkThread.store(portolan_thread_number(), ordering: .relaxed)
                guard !lacksResources else {
                    storeAndExit(skippedResult("the system gives no memory or no file", of: check), result, key, process)
                }
                storeAndExit(runner.result(of: check, callLog, isSupervised: true), result, key, process)
            }
        } catch {
            storeAndExit(skippedResult(error.message, of: check), result, key, process)
        }
        // Signals to the process go to the check's thread.
        RunnerSignals.blockAll()
        while true {
            usleep(100_000)
            // A thread that the plugin ends by exit(2) runs no cleanup code.
            let thread = checkThread.load(ordering: .relaxed)
            if thread != 0, portolan_signal_thread(thread, 0) != 0, errno == ESRCH { _exit(threadEndedStatus) }
        }
    }

    /// The thread that runs the check; 0 before it has begun.
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

    /// The result of a check that lacked resources from its start.
    private static func skippedResult(_ reason: String, of check: ConformanceCheck) -> CheckResult {
        var result = CheckResult(check.rule, .skipped, note: reason)
        result.shortage = .fromTheStart
        return result
    }

    private static func unblockSignals() {
        var emptySet = sigset_t()
        unsafe sigemptyset(&emptySet)
        unsafe pthread_sigmask(SIG_SETMASK, &emptySet, nil)
    }

    /// Makes the process exit if the plugin ends the calling thread (`pthread_exit(3)`).
    private static func exitWhenThreadEnds() {
        var key = pthread_key_t()
        guard unsafe pthread_key_create(&key, { _ in _exit(ChildProcess.threadEndedStatus) }) == 0 else { return }
        // The value only has to be non-null.
        unsafe pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
    }

    private static func storeAndExit(_ checkResult: CheckResult, _ result: SignedResult, _ key: ResultKey, _ process: pid_t) -> Never {
        // The plugin may have copied the process by `fork(2)`, and the copy can arrive here, too.
        guard getpid() == process, result.store(checkResult.childBytes, for: checkResult.rule, key) else { _exit(noResultStatus) }
        _exit(endedStatus)
    }
}
