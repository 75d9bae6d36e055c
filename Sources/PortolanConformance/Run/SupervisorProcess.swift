// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import FoundationEssentials
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The code that runs in the supervisor's process.
struct SupervisorProcess {
    let runner: ConformanceRunner
    let checks: [ConformanceCheck]
    let callLog: CallLog
    let result: SignedResult
    let errorOutput: ErrorOutput
    let runnerProcess: pid_t
    /// The pipe from which orders are read, and the pipe to which reports are written.
    let orderReadEnd, reportWriteEnd: Int32

    /// How long leftover processes have to end by themselves after a check that exited with its result.
    private static let gracePeriod = Duration.milliseconds(250)
    /// The longest time between two polls, because some events send no signal.
    private static let pollInterval = Duration.milliseconds(250)
    /// The time limit for ending leftover processes.
    private static let endLimit = Duration.seconds(5)

    /// Runs the ordered checks one at a time, until the runner closes the pipe of the orders, or ends.
    func serve() -> Never {
        // A new session has no terminal. So the plugin cannot write to the runner's terminal, and Ctrl-C reaches only
        // the runner.
        setsid()
        RunnerSignals.blockAll()
        RunnerSignals.restore()
        // If SIGCHLD were ignored, the kernel would discard the statuses of children that end.
        signal(SIGCHLD, SIG_DFL)
        ChildProcess.redirectStreamsToNull()
        errorOutput.redirect()
        errorOutput.closeInChild()
        _ = portolan_adopt_descendants(1)
        // A plugin can have stopped this process.
        _ = portolan_signal_at_end_of_parent(SIGCONT)
        runner.folder?.closeServiceDescriptors()
        guard getppid() == runnerProcess else { exitNow() }
        while let order = nextOrder(), checks.indices.contains(order.number) {
            runCheck(checks[order.number], order).write(to: reportWriteEnd)
        }
        exitNow()
    }

    /// Exits immediately by SIGKILL, because Valgrind would otherwise search for leaks.
    private func exitNow() -> Never {
        kill(getpid(), SIGKILL)
        _exit(0)
    }

    /// Waits for the next order. Returns `nil` if there are no more.
    private func nextOrder() -> CheckOrder? {
        var bytes = [UInt8](repeating: 0, count: CheckOrder.size)
        while true {
            let count = unsafe read(orderReadEnd, &bytes, bytes.count)
            if count == bytes.count { return CheckOrder(bytes) }
            guard count < 0, errno == EINTR else { return nil }
        }
    }

    private func runCheck(_ check: ConformanceCheck, _ order: CheckOrder) -> SupervisorReport {
        var report = SupervisorReport()
        let deadline = MonotonicTime.now + runner.timeLimit
        let supervisor = getpid()
        let child = fork()
        if child == 0 {
            for descriptor in [orderReadEnd, reportWriteEnd] { close(descriptor) }
            if let folder = runner.folder { close(folder.lifeDescriptor) }
            var runner = runner
            (runner.hungLoads, runner.hungSteps) = (order.hungLoads, order.hungSteps)
            ChildProcess.run(runner, check, callLog, result, order.key, supervisor: supervisor)
        }
        guard child > 0 else {
            report.status = errno
            return report
        }
        setpgid(child, child)
        report.processID = child
        while true {
            if let status = reap(until: child) {
                report.status = status
                break
            }
            let remainingTime = deadline - MonotonicTime.now
            if remainingTime <= .zero, !report.wasKilledAtLimit {
                report.wasKilledAtLimit = true
                kill(child, SIGKILL)
            }
            // The end of a traced process sends no signal to this process.
            wait(report.wasKilledAtLimit ? Self.pollInterval : min(remainingTime, Self.pollInterval))
            if portolan_is_held_after_end(child) == 1 { endTracers(of: child) }
        }
        report.remainingProcessNames = endLeftovers(after: report.status == ChildProcess.endedStatus ? Self.gracePeriod : .zero)
        return report
    }

    /// Waits for `time`, or until a child may have ended. If the runner has ended, or tells this supervisor to end,
    /// kills the descendants and exits.
    private func wait(_ time: Duration) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in [SIGCHLD, SIGTERM] { unsafe sigaddset(&signals, number) }
        var sender: pid_t = 0
        let receivedSignal = unsafe portolan_await_signal(&signals, max(time, .zero).nanoseconds, &sender)
        let mustEnd = getppid() != runnerProcess || (receivedSignal == SIGTERM && sender == runnerProcess)
        guard mustEnd else { return }
        endAll()
        exitNow()
    }

    /// Reaps children that have ended: processes that the plugin left behind, and the check's process `child`. Returns
    /// the status of `child`; `nil` if it has not ended.
    private func reap(until child: pid_t) -> Int32? {
        while true {
            var status: Int32 = 0
            let process = unsafe portolan_reap(&status)
            if process == child { return status }
            if process <= 0 { return nil }
        }
    }

    /// Kills the descendants that became children of this process when `child` ended. One of them traces `child`
    /// (`ptrace(2)`), so that this process is not notified of the end of `child`.
    private func endTracers(of child: pid_t) {
        for process in ProcessResources.children() where process != child { kill(process, SIGKILL) }
    }

    // MARK: Leftovers

    /// Ends the processes that the check's process left behind.
    ///
    /// - Parameter grace: How long these processes have to end by themselves.
    /// - Returns: The names of the processes that did not end in that time.
    private func endLeftovers(after grace: Duration) -> [String] {
        let deadline = MonotonicTime.now + grace
        while hasChildren {
            let remainingTime = deadline - MonotonicTime.now
            if remainingTime <= .zero {
                let names = ProcessResources.children().map { Self.name(of: $0) }
                endAll()
                return names
            }
            wait(remainingTime)
        }
        return []
    }

    /// Whether there is a child that has not ended. Reaps the children that have ended.
    private var hasChildren: Bool {
        while true {
            var status: Int32 = 0
            let process = unsafe portolan_reap(&status)
            if process == 0 { return true }
            if process < 0 { return false }
        }
    }

    /// Kills every descendant, for at most ``endLimit``. The children of a child that ends become children of this
    /// process.
    private func endAll() {
        let deadline = MonotonicTime.now + Self.endLimit
        while hasChildren, MonotonicTime.now < deadline {
            for child in ProcessResources.children() { kill(child, SIGKILL) }
            var signals = sigset_t()
            unsafe sigemptyset(&signals)
            unsafe sigaddset(&signals, SIGCHLD)
            var sender: pid_t = 0
            _ = unsafe portolan_await_signal(&signals, 20_000_000, &sender)
        }
    }

    private static func name(of process: pid_t) -> String {
        // `try?` because a process that has ended has no name.
        let text = (try? String(contentsOfFile: "/proc/\(process)/comm", encoding: .isoLatin1)) ?? "?"
        return String(text.prefix { $0 != "\n" })
    }
}
