// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension ConformanceRunner {
    /// Runs each check in a separate process, `jobs` in parallel, and passes each result to `handleResult` in the order
    /// of completion.
    ///
    /// The processes are copies of this process (`fork(2)`), which must have no thread other than the caller's. So a
    /// command can use it, but a test cannot. A supervisor process watches each check, notices its end, and ends its
    /// leftover processes. When this process ends in any way, all these processes end, and the temporary folder is
    /// removed. SIGINT, SIGTERM and SIGHUP end this process with the status 128 plus the number of the signal.
    ///
    /// - Throws: If this process has other threads, if no temporary folder can be made, and errors of `handleResult`.
    public func run(_ checks: [ConformanceCheck], jobs: Int, _ handleResult: (CheckResult) throws -> Void) throws {
        guard ProcessResources.threads().count == 1 else { throw SeveralThreads() }
        var runner = self
        let folder = if let folder { folder } else { try RunFolder() }
        runner.folder = folder
        defer { if self.folder == nil { folder.remove() } }
        RunnerSignals.observe(folder)
        defer { RunnerSignals.restore() }
        // If the plugin ends a supervisor, the supervisor's descendants become children of this process.
        _ = portolan_adopt_descendants(1)
        defer { _ = portolan_adopt_descendants(0) }
        let wasOpenToOthers = portolan_set_open_to_others(0)
        defer { _ = portolan_set_open_to_others(wasOpenToOthers) }
        let isEnabled = memcheck == nil && target.library != nil
        var standingState = StandingState(of: isEnabled ? target.library : nil)
        var leftovers = Leftovers(isEnabled: isEnabled)
        var contradictions = Contradictions(isEnabled: isEnabled)
        try runner.runChecks(checks, jobs, &standingState) { outcome in
            if let result = leftovers.add(outcome), let result = contradictions.add(result) { try handleResult(result) }
        }
        for result in leftovers.results {
            if let result = contradictions.add(result) { try handleResult(result) }
        }
        // A skipped check can name another rule as the reason. If the check of that rule was not selected, it runs now.
        // Only its failures are reported.
        let blamedChecks = contradictions.missingChecks
        if !blamedChecks.isEmpty {
            try runner.runChecks(blamedChecks, jobs, &standingState) { outcome in
                if let result = contradictions.add(outcome.result), result.verdict.isFailure { try handleResult(result) }
            }
        }
        for result in contradictions.results { try handleResult(result) }
    }

    private func runChecks(
        _ checks: [ConformanceCheck], _ jobs: Int, _ standingState: inout StandingState,
        _ handleResult: (SupervisorHandle.Outcome) throws -> Void
    ) throws {
        var names = StackNames()
        var supervisors = SupervisorPool(self, checks, max(1, min(jobs, checks.count)))
        defer { supervisors.end() }
        while let outcomes = supervisors.nextOutcomes() {
            for var outcome in outcomes {
                // Names are not looked up under Valgrind, because its log already contains them, and the look-up would
                // be slow.
                if memcheck == nil { outcome.result.nameCrash(by: &names, library: target.library) }
                if !standingState.review(&outcome), let processID = outcome.supervisorProcessID { supervisors.end(processID) }
                try handleResult(outcome)
            }
        }
    }

    public struct SeveralThreads: Error, CustomStringConvertible {
        public var description: String {
            "this process has several threads, so it can't be copied for each check; run the checks in this process"
        }
    }
}
