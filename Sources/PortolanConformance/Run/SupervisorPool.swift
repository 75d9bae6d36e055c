// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The supervisors of one run. Each runs one check or is idle.
struct SupervisorPool {
    private let runner: ConformanceRunner
    private let checks: [ConformanceCheck]
    private let maximumCount: Int
    /// The indices of the checks that have not been ordered.
    private var waitingIndices: Range<Int>
    private var supervisors: [SupervisorHandle] = []
    /// The children of this process before the run: its other processes, and those that its caller has started before
    /// `execve(2)`.
    private let otherChildren = Set(ProcessResources.children())
    /// The loads that hung in the checks that are over.
    private var hungLoads = HungLoads()
    /// The steps that hung in the checks that are over.
    private var hungSteps = HungSteps()

    init(_ runner: ConformanceRunner, _ checks: [ConformanceCheck], _ maximumCount: Int) {
        (self.runner, self.checks, self.maximumCount, waitingIndices) = (runner, checks, maximumCount, checks.indices)
    }

    /// Waits at most a second. Returns the outcomes of the checks that are over, possibly none; `nil` after the last
    /// check.
    mutating func nextOutcomes() -> [SupervisorHandle.Outcome]? {
        var outcomes: [SupervisorHandle.Outcome] = []
        while let index = waitingIndices.first {
            do throws(CheckSkipped) {
                guard let supervisor = try idleSupervisor() else { break }
                supervisor.run(checks[index], at: index, avoiding: hungLoads, hungSteps: hungSteps)
            } catch {
                // One of the existing supervisors can run the check later.
                if !supervisors.isEmpty { break }
                var result = CheckResult(checks[index].rule, .skipped, note: error.reason)
                result.shortage = .fromTheStart
                outcomes.append(SupervisorHandle.Outcome(result: result))
            }
            waitingIndices.removeFirst()
        }
        let busy = supervisors.filter { $0.runningCheck != nil }
        guard !busy.isEmpty || !outcomes.isEmpty else { return nil }
        return outcomes + wait(busy)
    }

    /// Returns an idle supervisor. If all are busy, creates one, or returns `nil` if there are already
    /// ``maximumCount``.
    private mutating func idleSupervisor() throws(CheckSkipped) -> SupervisorHandle? {
        if let supervisor = supervisors.first(where: { $0.runningCheck == nil }) { return supervisor }
        guard supervisors.count < maximumCount else { return nil }
        let supervisor = try SupervisorHandle(runner, checks, otherSupervisors: supervisors)
        supervisors.append(supervisor)
        return supervisor
    }

    /// Waits until a check may be over, but at most a second, and returns the outcomes of the checks that are over.
    private mutating func wait(_ busy: [SupervisorHandle]) -> [SupervisorHandle.Outcome] {
        guard let deadline = busy.compactMap({ $0.runningCheck?.deadline }).min() else { return [] }
        var descriptors = busy.map { pollfd(fd: $0.reportReadEnd, events: Int16(POLLIN), revents: 0) }
        let remainingTime = min(max(deadline - MonotonicTime.now, .zero), .seconds(1))
        guard unsafe poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: remainingTime.nanoseconds / 1_000_000 + 1)) >= 0 else {
            return []
        }
        // The plugin may have stopped a supervisor by a signal.
        for supervisor in busy { kill(supervisor.processID, SIGCONT) }
        var outcomes: [SupervisorHandle.Outcome] = []
        for (index, supervisor) in busy.enumerated() {
            guard let (outcome, supervisorEnded) = supervisor.outcome(isReportReady: descriptors[index].revents != 0) else { continue }
            outcomes.append(outcome)
            hungLoads.formUnion(outcome.result.hungLoads)
            hungSteps.add(outcome.result)
            guard supervisorEnded else { continue }
            supervisors.removeAll { $0 === supervisor }
            endOrphans()
        }
        return outcomes
    }

    /// Kills the processes that a supervisor left when it ended. They are children of this process now. The servers are
    /// not, because their supervisors are their parents. Tries for five seconds.
    private func endOrphans() {
        let ownProcesses = otherChildren.union(supervisors.map(\.processID))
        let deadline = MonotonicTime.now + .seconds(5)
        while MonotonicTime.now < deadline {
            let orphans = ProcessResources.children().filter { !ownProcesses.contains($0) }
            if orphans.isEmpty { return }
            for orphan in orphans {
                kill(orphan, SIGKILL)
                var status: Int32 = 0
                unsafe waitpid(orphan, &status, 0)
            }
        }
    }

    /// Ends the idle supervisor with this process ID, because the plugin has made it unusable.
    mutating func end(_ processID: pid_t) {
        guard let supervisor = supervisors.first(where: { $0.processID == processID && $0.runningCheck == nil }) else { return }
        supervisors.removeAll { $0 === supervisor }
        supervisor.end()
        endOrphans()
    }

    mutating func end() {
        for supervisor in supervisors { supervisor.end() }
        supervisors = []
    }
}
