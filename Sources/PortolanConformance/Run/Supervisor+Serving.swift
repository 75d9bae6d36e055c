// SPDX-License-Identifier: Apache-2.0

import CThreadTrace
import FoundationEssentials
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The keeper's own process.
struct SupervisorProcess {
    let runner: ConformanceRunner
    let checks: [ConformanceCheck]
    let callLog: CallLog
    let result: SealedResult
    let judgeProcess: pid_t
    /// Where the number of the next check comes from, and where the report of it goes.
    let orders, reports: Int32

    /// How long a process that the plugin has told to end may take to be gone.
    private static let grace = Duration.milliseconds(250)
    /// How often it is looked for what no signal tells of.
    private static let pace = Duration.milliseconds(250)
    /// How long it is tried to end what is left.
    private static let endLimit = Duration.seconds(5)

    /// Makes the checks that it is ordered to, one at a time, until the judge wants no more or is gone.
    func serve() -> Never {
        // Without the terminal of the judge: what is written there is not the plugin's, and Ctrl-C is the judge's to take.
        setsid()
        RunnerSignals.blockAll()
        RunnerSignals.restore()
        // Where it is ignored, the system forgets children that end.
        signal(SIGCHLD, SIG_DFL)
        ChildProcess.closeStreams()
        _ = portolan_adopt_descendants(1)
        _ = portolan_signal_at_end_of_parent(SIGTERM)
        guard getppid() == judgeProcess else { leave() }
        while let order = nextOrder(), checks.indices.contains(order.number) { make(checks[order.number], order.key).write(to: reports) }
        leave()
    }

    /// Gone at once: Valgrind, where it runs this, would look for what is lost.
    private func leave() -> Never {
        kill(getpid(), SIGKILL)
        _exit(0)
    }

    /// `nil` when there are no more.
    private func nextOrder() -> CheckOrder? {
        var bytes = [UInt8](repeating: 0, count: CheckOrder.size)
        while true {
            let count = unsafe read(orders, &bytes, bytes.count)
            if count == bytes.count { return CheckOrder(bytes) }
            guard count < 0, errno == EINTR else { return nil }
        }
    }

    private func make(_ check: ConformanceCheck, _ key: ResultKey) -> SupervisorReport {
        var report = SupervisorReport()
        let deadline = MonotonicTime.now + runner.timeLimit
        let supervisor = getpid()
        let child = fork()
        if child == 0 {
            for number in [orders, reports] { close(number) }
            if let folder = runner.folder { close(folder.life) }
            ChildProcess.run(runner, check, callLog, result, key, supervisor: supervisor)
        }
        guard child > 0 else {
            report.status = errno
            return report
        }
        setpgid(child, child)
        report.process = child
        while true {
            if let status = reap(until: child) {
                report.status = status
                break
            }
            let left = deadline - MonotonicTime.now
            if left <= .zero, !report.wasEnded {
                report.wasEnded = true
                kill(child, SIGKILL)
            }
            // The end of one that is traced is no signal to this process.
            wait(report.wasEnded ? Self.pace : min(left, Self.pace))
            if portolan_is_held_after_end(child) == 1 { endTracers(of: child) }
        }
        report.left = endLeftovers(after: report.status == ChildProcess.endedStatus ? Self.grace : .zero)
        return report
    }

    /// Waits until a child may have ended. Where the judge ends, or wants the keeper to, all ends.
    private func wait(_ time: Duration) {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in [SIGCHLD, SIGTERM] { unsafe sigaddset(&signals, number) }
        var sender: pid_t = 0
        let number = unsafe portolan_await_signal(&signals, max(time, .zero).nanoseconds, &sender)
        let isToEnd = getppid() != judgeProcess || (number == SIGTERM && sender == judgeProcess)
        guard isToEnd else { return }
        endAll()
        leave()
    }

    /// Takes in children that have ended: those that the plugin has left, and the check's own process, whose status is given.
    private func reap(until child: pid_t) -> Int32? {
        while true {
            var status: Int32 = 0
            let process = unsafe portolan_reap(&status)
            if process == child { return status }
            if process <= 0 { return nil }
        }
    }

    /// Ends the descendants that have become this process's own since `child` has ended: one of them traces it, and keeps its end.
    private func endTracers(of child: pid_t) {
        for process in Self.children() where process != child { kill(process, SIGKILL) }
    }

    // MARK: What is left

    /// Ends what the check's process has left.
    ///
    /// - Parameter grace: how long it may take to end by itself.
    /// - Returns: the names of what did not.
    private func endLeftovers(after grace: Duration) -> [String] {
        let end = MonotonicTime.now + grace
        while hasChildren {
            let left = end - MonotonicTime.now
            if left <= .zero {
                let names = Self.children().map { Self.name(of: $0) }
                endAll()
                return names
            }
            wait(left)
        }
        return []
    }

    /// Whether there is a child that has not ended.
    private var hasChildren: Bool {
        while true {
            var status: Int32 = 0
            let process = unsafe portolan_reap(&status)
            if process == 0 { return true }
            if process < 0 { return false }
        }
    }

    /// Ends every descendant: the children of a child that ends become this process's own.
    private func endAll() {
        let end = MonotonicTime.now + Self.endLimit
        while hasChildren, MonotonicTime.now < end {
            for child in Self.children() { kill(child, SIGKILL) }
            var signals = sigset_t()
            unsafe sigemptyset(&signals)
            unsafe sigaddset(&signals, SIGCHLD)
            var sender: pid_t = 0
            _ = unsafe portolan_await_signal(&signals, 20_000_000, &sender)
        }
    }

    /// Of this process; those that are beyond the room are seen when these are gone.
    static func children() -> [pid_t] {
        var list = [pid_t](repeating: 0, count: 1024)
        let count = unsafe portolan_children(&list, Int32(list.count))
        return Array(list.prefix(Int(count)))
    }

    private static func name(of process: pid_t) -> String {
        // `try?` because a process that is gone has no name.
        let text = (try? String(contentsOfFile: "/proc/\(process)/comm", encoding: .isoLatin1)) ?? "?"
        return String(text.prefix { $0 != "\n" })
    }
}
