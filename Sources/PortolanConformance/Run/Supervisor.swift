// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The runner's side of a supervisor: a process that `fork(2)` makes between the runner and the processes of checks. A
/// supervisor runs one check at a time, notices the end of the check's process, and ends leftover processes. When the
/// runner ends, the supervisor kills its descendants and itself.
final class Supervisor {
    let process: pid_t
    /// The pipe to which the orders to run checks are written.
    private let orderPipe: Int32
    /// The pipe that becomes readable when a check is over.
    let reportPipe: Int32
    private let callLog: CallLog
    private let sealedResult: SealedResult
    private let runner: ConformanceRunner
    private(set) var runningCheck: RunningCheck?

    struct RunningCheck {
        let check: ConformanceCheck
        let start: Duration
        /// The time at which the supervisor itself counts as stuck.
        let deadline: Duration
    }

    /// The result of a check, and the names of the processes that outlived it.
    struct Outcome {
        var result: CheckResult
        var leftProcessNames: [String] = []
        /// The process ID of the supervisor; `nil` if it has ended, or could not be created.
        var supervisor: pid_t?
    }

    /// The time in which a supervisor must report after the time limit of its check.
    private static let extraTime = Duration.seconds(15)

    /// - Parameter others: The runner's other supervisors, whose resources the new process closes.
    init(_ runner: ConformanceRunner, _ checks: [ConformanceCheck], beside others: [Supervisor]) throws(CheckSkipped) {
        let (callLog, sealedResult) = (try CallLog(), try SealedResult())
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
                for other in others { other.closeResources() }
                SupervisorProcess(
                    runner: runner, checks: checks, callLog: callLog, result: sealedResult, runnerProcess: runnerProcess,
                    orderPipe: orderEnds[0],
                    reportPipe: reportEnds[1]
                ).serve()
            }
            if child > 0 { RunnerSignals.add(process: child, orderPipe: orderEnds[1]) }
            return child
        }
        let errorNumber = errno
        for end in [orderEnds[0], reportEnds[1]] { close(end) }
        guard child > 0 else {
            for end in [orderEnds[1], reportEnds[0]] { close(end) }
            throw CheckSkipped.resourceShortage("no process could be created (errno \(errorNumber))")
        }
        (process, orderPipe, reportPipe) = (child, orderEnds[1], reportEnds[0])
        (self.callLog, self.sealedResult, self.runner) = (callLog, sealedResult, runner)
    }

    /// Closes another supervisor's resources in this process.
    private func closeResources() {
        for end in [orderPipe, reportPipe] { close(end) }
        callLog.unmap()
        sealedResult.unmap()
    }

    /// Orders the supervisor to run a check.
    ///
    /// - Parameters:
    ///   - index: The index of the check in the list of checks.
    ///   - hungLoads: The loads that hung in earlier checks.
    ///   - hungSteps: The steps that hung in earlier checks.
    func order(_ check: ConformanceCheck, _ index: Int, avoiding hungLoads: HungLoads, and hungSteps: HungSteps) {
        callLog.clear()
        sealedResult.renew()
        let start = MonotonicTime.now
        runningCheck = RunningCheck(check: check, start: start, deadline: start + runner.timeLimit + Self.extraTime)
        let order = CheckOrder(index, hungLoads, hungSteps, sealedResult.key).bytes
        // If the write fails, the supervisor has ended, which shows when its report is read.
        while unsafe write(orderPipe, order, order.count) < 0, errno == EINTR {}
    }

    /// Returns the outcome of the running check; `nil` while the check runs. Ends a supervisor that is stuck or gives
    /// no valid report; `isGone` is true then.
    ///
    /// - Parameter isReady: Whether the report pipe is readable.
    func outcome(isReady: Bool) -> (Outcome, isGone: Bool)? {
        guard let runningCheck else { return nil }
        if isReady {
            var bytes = [UInt8](repeating: 0, count: SupervisorReport.size)
            let count = unsafe read(reportPipe, &bytes, bytes.count)
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
            note: "the supervisor process of this check was ended, stopped or disturbed\(CallLogEntry.place(after: callLog.lines))")
        result.duration = MonotonicTime.now - runningCheck.start
        result.lastEvents = callLog.lines
        return (Outcome(result: result), true)
    }

    private func outcome(of runningCheck: RunningCheck, _ report: SupervisorReport) -> Outcome {
        var result = verdict(runningCheck.check.rule, report, MonotonicTime.now - runningCheck.start)
        result.duration = MonotonicTime.now - runningCheck.start
        result.memory = runner.memcheck?.log(of: report.process)
        // The findings of a completed check contain their own events.
        if result.verdict == .crashed || result.verdict == .hung { result.lastEvents = callLog.lines }
        return Outcome(result: result, leftProcessNames: report.leftProcessNames, supervisor: process)
    }

    private func verdict(_ rule: ConformanceRule, _ report: SupervisorReport, _ time: Duration) -> CheckResult {
        guard report.process > 0 else {
            var result = CheckResult(rule, .skipped, note: "no process could be created (errno \(report.status))")
            result.shortage = .fromTheStart
            return result
        }
        let content = sealedResult.content(for: rule)
        if !report.wasKilledAtLimit, report.status == ChildProcess.endedStatus, case .result(let bytes) = content,
            let result = CheckResult(childBytes: bytes, rule)
        {
            return result
        }
        let crash = CrashReport(callLog.crashBytes)
        if report.wasKilledAtLimit, crash == nil {
            return CheckResult(
                rule, .hung, note: "it was ended after \(ValueFormatting.time(time))\(CallLogEntry.place(after: callLog.lines))")
        }
        var phrases = [endPhrase(for: report.status, crash?.signal)]
        if let addressPhrase = crash?.addressPhrase { phrases.append(addressPhrase) }
        // The runner's threads have separate stacks for the signal handler; the plugin's threads have none.
        if crash == nil, report.status & 0x7F == SIGSEGV {
            phrases.append(
                "and the runner's signal handler could not run: the stack of a thread that the plugin started can have overflowed")
        }
        if case .forged = content { phrases.append("something other than the runner left a result") }
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
            ? "the thread that called the plugin was ended, for example by pthread_exit" : "the process ended itself with status \(code)"
    }

    // MARK: The end

    /// Ends the supervisor and its descendants, and waits for the end of the supervisor.
    func end() {
        Self.stop(process, orderPipe)
        close(reportPipe)
        var status: Int32 = 0
        let deadline = MonotonicTime.now + .seconds(10)
        while true {
            let reapedProcess = unsafe waitpid(process, &status, WNOHANG)
            if reapedProcess == process || (reapedProcess < 0 && errno != EINTR) { break }
            // The plugin has stopped the supervisor, or traces it (ptrace(2)).
            if MonotonicTime.now > deadline { kill(process, SIGKILL) }
            usleep(500)
        }
        RunnerSignals.remove(process: process)
    }

    /// Tells a supervisor to end, and does not wait. Safe in a signal handler.
    static func stop(_ process: pid_t, _ orderPipe: Int32) {
        // A supervisor that waits for an order sees the end of the pipe; one with a running check receives the signal.
        close(orderPipe)
        kill(process, SIGTERM)
        kill(process, SIGCONT)
    }
}
