// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Represents a supervisor process in the runner. The runner forks the supervisor, and the supervisor forks one process
/// for each check.
///
/// A supervisor runs one check at a time, waits for the check's process, and ends leftover processes. When the runner
/// ends, the supervisor kills its descendants and itself.
final class SupervisorHandle {
    let processID: pid_t
    /// The runner writes orders to this pipe.
    private let orderWriteEnd: Int32
    /// The supervisor writes a report to this pipe when a check ends.
    let reportReadEnd: Int32
    private let callLog: CallLog
    private let signedResult: SignedResult
    private let errorOutput: ErrorOutput
    private let runner: ConformanceRunner
    private(set) var runningCheck: RunningCheck?

    struct RunningCheck {
        let check: ConformanceCheck
        let start: Duration
        /// If the supervisor has not reported by this time, the runner terminates it.
        let deadline: Duration
    }

    /// The result of a check, and the names of the processes that outlived it.
    struct Outcome {
        var result: CheckResult
        var remainingProcessNames: [String] = []
        /// The process ID of the supervisor. `nil` if the supervisor has ended or could not be created.
        var supervisorProcessID: pid_t?
    }

    /// How long the runner waits for the report after the check's time limit.
    private static let reportTimeout = Duration.seconds(15)

    /// - Parameter otherSupervisors: The runner's other supervisors. The new process closes their resources.
    init(
        _ runner: ConformanceRunner, _ checks: [ConformanceCheck], otherSupervisors: [SupervisorHandle]
    ) throws(CheckSkipped) {
        let (callLog, signedResult, errorOutput) = (try CallLog(), try SignedResult(), try ErrorOutput())
        var (orderEnds, reportEnds): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard unsafe pipe(&orderEnds) == 0 else { throw CheckSkipped.resourceShortage("no pipe could be created (errno \(errno))") }
        guard unsafe pipe(&reportEnds) == 0 else {
            let errorNumber = errno
            for end in orderEnds { close(end) }
            throw CheckSkipped.resourceShortage("no pipe could be created (errno \(errorNumber))")
        }
        for end in orderEnds + reportEnds { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let runnerProcess = getpid()
        let child = RunnerSignals.withSignalsBlocked { () -> pid_t in
            let child = fork()
            if child == 0 {
                for end in [orderEnds[1], reportEnds[0]] { close(end) }
                for other in otherSupervisors { other.closeResources() }
                SupervisorProcess(
                    runner: runner, checks: checks, callLog: callLog, result: signedResult, errorOutput: errorOutput,
                    runnerProcess: runnerProcess, orderReadEnd: orderEnds[0], reportWriteEnd: reportEnds[1]
                ).serve()
            }
            if child > 0 { RunnerSignals.add(processID: child, orderWriteEnd: orderEnds[1]) }
            return child
        }
        let errorNumber = errno
        for end in [orderEnds[0], reportEnds[1]] { close(end) }
        guard child > 0 else {
            for end in [orderEnds[1], reportEnds[0]] { close(end) }
            throw CheckSkipped.resourceShortage("no process could be created (errno \(errorNumber))")
        }
        (processID, orderWriteEnd, reportReadEnd) = (child, orderEnds[1], reportEnds[0])
        (self.callLog, self.signedResult, self.errorOutput, self.runner) = (callLog, signedResult, errorOutput, runner)
    }

    /// Closes this supervisor's descriptors and unmaps its memory. A newly forked supervisor calls it for the others.
    private func closeResources() {
        for end in [orderWriteEnd, reportReadEnd] { close(end) }
        errorOutput.closeInChild()
        callLog.unmap()
        signedResult.unmap()
    }

    /// Orders the supervisor to run a check.
    ///
    /// - Parameters:
    ///   - index: The index of the check in the list of checks.
    ///   - hungLoads: The loads that hung in earlier checks.
    ///   - hungSteps: The steps that hung in earlier checks.
    func run(_ check: ConformanceCheck, at index: Int, avoiding hungLoads: HungLoads, hungSteps: HungSteps) {
        callLog.clear()
        errorOutput.clear()
        signedResult.renew()
        let start = MonotonicTime.now
        runningCheck = RunningCheck(check: check, start: start, deadline: start + runner.timeLimit + Self.reportTimeout)
        let order = CheckOrder(index, hungLoads, hungSteps, signedResult.key).bytes
        // If the write fails, the supervisor has ended. `outcome(isReportReady:)` detects this.
        while unsafe write(orderWriteEnd, order, order.count) < 0, errno == EINTR {}
    }

    /// Returns the outcome of the running check. If the supervisor misses its deadline, has ended, or sends an invalid
    /// report, the method terminates it and returns `supervisorEnded = true`. Returns `nil` while the check runs, or if
    /// no check was ordered.
    ///
    /// - Parameter isReportReady: Whether the report can be read.
    func outcome(isReportReady: Bool) -> (Outcome, supervisorEnded: Bool)? {
        guard let runningCheck else { return nil }
        if isReportReady {
            var bytes = [UInt8](repeating: 0, count: SupervisorReport.size)
            let count = unsafe read(reportReadEnd, &bytes, bytes.count)
            if count < 0, errno == EINTR { return nil }
            if count > 0, let report = SupervisorReport(bytes[..<count]) {
                self.runningCheck = nil
                return (outcome(of: runningCheck, report), false)
            }
        } else if runningCheck.deadline > MonotonicTime.now {
            return nil
        }
        end()
        self.runningCheck = nil
        var result = CheckResult(
            runningCheck.check.rule, .crashed,
            note: "the supervisor process of this check exited, sent an invalid report, or did not respond"
                + CallLogEntry.place(after: callLog.lines))
        result.duration = MonotonicTime.now - runningCheck.start
        (result.lastEvents, result.errorOutput) = (callLog.lines, errorOutput.lines)
        return (Outcome(result: result), true)
    }

    private func outcome(of runningCheck: RunningCheck, _ report: SupervisorReport) -> Outcome {
        var result = result(for: runningCheck.check.rule, report: report, time: MonotonicTime.now - runningCheck.start)
        result.duration = MonotonicTime.now - runningCheck.start
        result.memory = runner.memcheck?.log(of: report.processID)
        // Each finding of a completed check already lists its last events.
        if result.verdict == .crashed || result.verdict == .hung {
            (result.lastEvents, result.errorOutput) = (callLog.lines, errorOutput.lines)
        }
        return Outcome(result: result, remainingProcessNames: report.remainingProcessNames, supervisorProcessID: processID)
    }

    private func result(for rule: ConformanceRule, report: SupervisorReport, time: Duration) -> CheckResult {
        guard report.processID > 0 else {
            var result = CheckResult(rule, .skipped, note: "no process could be created (errno \(report.status))")
            result.shortage = .fromTheStart
            return result
        }
        let content = signedResult.content(for: rule)
        if !report.wasKilledAtLimit, report.status == ChildProcess.endedStatus, case .result(let bytes) = content,
            let result = CheckResult(childBytes: bytes, rule)
        {
            return result
        }
        let crash = CrashReport(callLog.crashBytes)
        if report.wasKilledAtLimit, crash == nil {
            return CheckResult(
                rule, .hung,
                note: "the check exceeded its time limit, and the supervisor killed it after \(ValueFormatting.time(time))"
                    + CallLogEntry.place(after: callLog.lines))
        }
        var phrases = [endPhrase(for: report.status, crash?.signal)]
        if let addressPhrase = crash?.addressPhrase { phrases.append(addressPhrase) }
        // The runner's threads have separate stacks for the signal handler; the plugin's threads have none.
        if crash == nil, report.status & 0x7F == SIGSEGV {
            phrases.append("and the runner's signal handler did not run, perhaps because the stack of a plugin thread overflowed")
        }
        if case .forged = content { phrases.append("the plugin overwrote the result memory") }
        var result = CheckResult(rule, .crashed, note: phrases.joined(separator: ", "))
        result.crashStack = crash?.stack
        if crash?.lacksMemory == true { result.shortage = .later }
        return result
    }

    /// - Parameters:
    ///   - status: The status of `waitpid(2)`.
    ///   - reportedSignal: The signal in the process's crash report; `nil` if there is no report.
    private func endPhrase(for status: Int32, _ reportedSignal: Int32?) -> String {
        let signal = reportedSignal ?? (status & 0x7F)
        if signal != 0 { return "ended by \(CrashReport.name(of: signal))" }
        let code = (status >> 8) & 0xFF
        return code == ChildProcess.threadEndedStatus
            ? "the plugin ended the thread that called it, for example with pthread_exit" : "the process exited with status \(code)"
    }

    // MARK: The end

    /// Terminates the supervisor and waits for it. The supervisor kills its descendants unless it needs SIGKILL itself.
    func end() {
        Self.requestTermination(processID, orderWriteEnd)
        close(reportReadEnd)
        var status: Int32 = 0
        let deadline = MonotonicTime.now + .seconds(10)
        while true {
            let reapedProcess = unsafe waitpid(processID, &status, WNOHANG)
            if reapedProcess == processID || (reapedProcess < 0 && errno != EINTR) { break }
            // SIGTERM had no effect, perhaps because the plugin traces the supervisor (ptrace(2)). SIGKILL always
            // works.
            if MonotonicTime.now > deadline { kill(processID, SIGKILL) }
            usleep(500)
        }
        RunnerSignals.remove(processID: processID)
    }

    /// Closes the pipe for the supervisor's orders, and sends SIGTERM to the supervisor. Does not wait for it. The
    /// function is async-signal-safe.
    static func requestTermination(_ processID: pid_t, _ orderWriteEnd: Int32) {
        // A supervisor that waits for an order reads end-of-file. A supervisor with a running check receives the
        // signal.
        close(orderWriteEnd)
        requestEnd(of: processID)
    }

    /// Sends SIGTERM to a supervisor, which may be stopped. The function is async-signal-safe.
    static func requestEnd(of processID: pid_t) {
        kill(processID, SIGTERM)
        kill(processID, SIGCONT)
    }
}
