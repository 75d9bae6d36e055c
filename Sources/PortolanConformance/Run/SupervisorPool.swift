// SPDX-License-Identifier: Apache-2.0

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
    private let limit: Int
    private var waitingChecks: Range<Int>
    private var supervisors: [Supervisor] = []
    /// The loads that hung in the checks that are over.
    private var hungLoads = HungLoads()
    /// The steps that hung in the checks that are over.
    private var hungSteps = HungSteps()

    init(_ runner: ConformanceRunner, _ checks: [ConformanceCheck], _ limit: Int) {
        (self.runner, self.checks, self.limit, waitingChecks) = (runner, checks, limit, checks.indices)
    }

    /// Waits until checks are over, and returns their outcomes; `nil` if there are no more.
    mutating func next() -> [Supervisor.Outcome]? {
        var outcomes: [Supervisor.Outcome] = []
        while let number = waitingChecks.first {
            do throws(CheckSkipped) {
                guard let supervisor = try idleSupervisor() else { break }
                supervisor.order(checks[number], number, avoiding: hungLoads, and: hungSteps)
            } catch {
                // One of the existing supervisors can run the check later.
                if !supervisors.isEmpty { break }
                var result = CheckResult(checks[number].rule, .skipped, note: error.reason)
                result.shortage = .fromTheStart
                outcomes.append(Supervisor.Outcome(result: result))
            }
            waitingChecks.removeFirst()
        }
        let busy = supervisors.filter { $0.runningCheck != nil }
        guard !busy.isEmpty || !outcomes.isEmpty else { return nil }
        return outcomes + wait(busy)
    }

    /// Returns an idle supervisor, and creates one if the limit permits; `nil` if all are busy.
    private mutating func idleSupervisor() throws(CheckSkipped) -> Supervisor? {
        if let supervisor = supervisors.first(where: { $0.runningCheck == nil }) { return supervisor }
        guard supervisors.count < limit else { return nil }
        let supervisor = try Supervisor(runner, checks, beside: supervisors)
        supervisors.append(supervisor)
        return supervisor
    }

    private mutating func wait(_ busy: [Supervisor]) -> [Supervisor.Outcome] {
        guard let deadline = busy.compactMap({ $0.runningCheck?.deadline }).min() else { return [] }
        var descriptors = busy.map { pollfd(fd: $0.reportPipe, events: Int16(POLLIN), revents: 0) }
        let remainingTime = min(max(deadline - MonotonicTime.now, .zero), .seconds(1))
        guard unsafe poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: remainingTime.nanoseconds / 1_000_000 + 1)) >= 0 else {
            return []
        }
        // The plugin may have stopped a supervisor.
        for supervisor in busy { kill(supervisor.process, SIGCONT) }
        var outcomes: [Supervisor.Outcome] = []
        for (index, supervisor) in busy.enumerated() {
            guard let (outcome, isGone) = supervisor.outcome(isReady: descriptors[index].revents != 0) else { continue }
            outcomes.append(outcome)
            hungLoads.formUnion(outcome.result.hungLoads)
            hungSteps.add(outcome.result)
            guard isGone else { continue }
            supervisors.removeAll { $0 === supervisor }
            endOrphans()
        }
        return outcomes
    }

    /// Ends the processes that remain from the checks of an ended supervisor: children that this process did not make.
    private func endOrphans() {
        let ownProcesses = Set(supervisors.map(\.process) + [runner.folder?.remover].compactMap { $0 })
        let limit = MonotonicTime.now + .seconds(5)
        while MonotonicTime.now < limit {
            let orphans = SupervisorProcess.children().filter { !ownProcesses.contains($0) }
            if orphans.isEmpty { return }
            for orphan in orphans {
                kill(orphan, SIGKILL)
                var status: Int32 = 0
                unsafe waitpid(orphan, &status, 0)
            }
        }
    }

    /// Ends a supervisor that the plugin has made unusable.
    mutating func end(_ process: pid_t) {
        guard let supervisor = supervisors.first(where: { $0.process == process && $0.runningCheck == nil }) else { return }
        supervisors.removeAll { $0 === supervisor }
        supervisor.end()
        endOrphans()
    }

    mutating func end() {
        for supervisor in supervisors { supervisor.end() }
        supervisors = []
    }
}
