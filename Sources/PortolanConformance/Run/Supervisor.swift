// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A process between the runner and the processes of checks, made by `fork(2)`. It runs one check at a time, notices
/// the end of the check's process, and ends leftover processes. When the runner ends, it ends everything, and itself.
final class Supervisor {
    let process: pid_t
    private let orders: Int32
    /// The pipe that becomes readable when a check is over.
    let reports: Int32
    private let callLog: CallLog
    private let sealed: SealedResult
    private let runner: ConformanceRunner
    private(set) var running: Running?

    struct Running {
        let check: ConformanceCheck
        let start: Duration
        /// The time at which the supervisor itself counts as stuck.
        let deadline: Duration
    }

    /// The result of a check, and the names of the processes that outlived it.
    struct Outcome {
        var result: CheckResult
        var left: [String] = []
        /// The supervisor, if it still runs.
        var supervisor: pid_t?
    }

    /// The extra time of the supervisor after a check's own time.
    private static let slack = Duration.seconds(15)

    /// - Parameter others: The runner's other supervisors, whose resources the new process closes.
    init(_ runner: ConformanceRunner, _ checks: [ConformanceCheck], beside others: [Supervisor]) throws(CheckSkipped) {
        let (callLog, sealed) = (try CallLog(), try SealedResult())
        var (order, report): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
        guard unsafe pipe(&order) == 0 else { throw CheckSkipped.resourceShortage("no pipe could be created (errno \(errno))") }
        guard unsafe pipe(&report) == 0 else {
            let number = errno
            for end in order { close(end) }
            throw CheckSkipped.resourceShortage("no pipe could be created (errno \(number))")
        }
        for end in order + report { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let runnerProcess = getpid()
        let child = RunnerSignals.holdingBack { () -> pid_t in
            let child = fork()
            if child == 0 {
                for end in [order[1], report[0]] { close(end) }
                for other in others { other.closeResources() }
                SupervisorProcess(
                    runner: runner, checks: checks, callLog: callLog, result: sealed, runnerProcess: runnerProcess, orders: order[0],
                    reports: report[1]
                ).serve()
            }
            if child > 0 { RunnerSignals.add(process: child, orders: order[1]) }
            return child
        }
        let number = errno
        for end in [order[0], report[1]] { close(end) }
        guard child > 0 else {
            for end in [order[1], report[0]] { close(end) }
            throw CheckSkipped.resourceShortage("no process could be created (errno \(number))")
        }
        (process, orders, reports) = (child, order[1], report[0])
        (self.callLog, self.sealed, self.runner) = (callLog, sealed, runner)
    }

    /// Closes another supervisor's resources in this process.
    private func closeResources() {
        for end in [orders, reports] { close(end) }
        callLog.unmap()
        sealed.unmap()
    }

    /// Orders `check`, which has this number.
    ///
    /// - Parameters:
    ///   - hungLoads: The loads that hung in earlier checks.
    ///   - hungSteps: The steps that hung in earlier checks.
    func make(_ check: ConformanceCheck, _ number: Int, avoiding hungLoads: HungLoads, and hungSteps: HungSteps) {
        callLog.clear()
        sealed.renew()
        let start = MonotonicTime.now
        running = Running(check: check, start: start, deadline: start + runner.timeLimit + Self.slack)
        let order = CheckOrder(number, hungLoads, hungSteps, sealed.key).bytes
        // If the write fails, the supervisor has ended, which shows when its report is read.
        while unsafe write(orders, order, order.count) < 0, errno == EINTR {}
    }

    /// The outcome of the check when it is over. The supervisor may have ended then, too.
    ///
    /// - Parameter isReady: Whether the report pipe is readable.
    func outcome(isReady: Bool) -> (Outcome, isGone: Bool)? {
        guard let running else { return nil }
        if isReady {
            var bytes = [UInt8](repeating: 0, count: SupervisorReport.size)
            let count = unsafe read(reports, &bytes, bytes.count)
            if count < 0, errno == EINTR { return nil }
            if count > 0, let report = SupervisorReport(bytes[..<count]) {
                self.running = nil
                return (outcome(of: running, report), false)
            }
        } else if running.deadline > MonotonicTime.now {
            return nil
        }
        end()
        self.running = nil
        var result = CheckResult(
            running.check.rule, .crashed,
            note: "the supervisor process of this check was ended, stopped or disturbed\(CallLogEntry.place(after: callLog.lines))")
        result.duration = MonotonicTime.now - running.start
        result.lastEvents = callLog.lines
        return (Outcome(result: result), true)
    }

    private func outcome(of running: Running, _ report: SupervisorReport) -> Outcome {
        var result = verdict(running.check.rule, report, MonotonicTime.now - running.start)
        result.duration = MonotonicTime.now - running.start
        result.memory = runner.memcheck?.log(of: report.process)
        // For a completed check, the events of its findings stay.
        if result.verdict == .crashed || result.verdict == .hung { result.lastEvents = callLog.lines }
        return Outcome(result: result, left: report.left, supervisor: process)
    }

    private func verdict(_ rule: ConformanceRule, _ report: SupervisorReport, _ time: Duration) -> CheckResult {
        guard report.process > 0 else {
            var result = CheckResult(rule, .skipped, note: "no process could be created (errno \(report.status))")
            result.shortage = .fromTheStart
            return result
        }
        let content = sealed.content(for: rule)
        if !report.wasEnded, report.status == ChildProcess.endedStatus, case .result(let bytes) = content,
            let result = CheckResult(childBytes: bytes, rule)
        {
            return result
        }
        let crash = CrashReport(callLog.lastBytes)
        if report.wasEnded, crash == nil {
            return CheckResult(
                rule, .hung, note: "it was ended after \(ValueFormatting.time(time))\(CallLogEntry.place(after: callLog.lines))")
        }
        var words = [name(of: report.status, crash?.signal)]
        if let what = crash?.what { words.append(what) }
        if case .forged = content { words.append("something other than the runner left a result") }
        var result = CheckResult(rule, .crashed, note: words.joined(separator: ", "))
        result.crashStack = crash?.stack
        if crash?.isStarved == true { result.shortage = .later }
        return result
    }

    private func name(of status: Int32, _ reported: Int32?) -> String {
        let signal = reported ?? (status & 0x7F)
        if signal != 0 { return "ended by \(CrashReport.name(of: signal))" }
        let code = (status >> 8) & 0xFF
        return code == ChildProcess.threadEndedStatus
            ? "the thread that called the plugin was ended, for example by pthread_exit" : "the process ended itself with status \(code)"
    }

    // MARK: The end

    /// Ends the supervisor and all its processes.
    func end() {
        Self.stop(process, orders)
        close(reports)
        var status: Int32 = 0
        let limit = MonotonicTime.now + .seconds(10)
        while true {
            let ended = unsafe waitpid(process, &status, WNOHANG)
            if ended == process || (ended < 0 && errno != EINTR) { break }
            // The plugin has stopped it, or holds it by ptrace(2).
            if MonotonicTime.now > limit { kill(process, SIGKILL) }
            usleep(500)
        }
        RunnerSignals.remove(process: process)
    }

    /// Makes a supervisor end. Safe in a signal handler.
    static func stop(_ process: pid_t, _ orders: Int32) {
        // A supervisor that waits for an order sees the end of the pipe; one with a running check receives the signal.
        close(orders)
        kill(process, SIGTERM)
        kill(process, SIGCONT)
    }
}
