// SPDX-License-Identifier: Apache-2.0

import CThreadTrace
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension Judge {
    /// Makes each check in a process of its own, `jobs` at a time, and tells what came of each, in the order in which they end.
    ///
    /// The processes are copies of this one (`fork(2)`), which must have no other thread than the one that calls: that of a command, not of a
    /// test. Each is watched by another one, its keeper, which sees its end and ends what it leaves. When this process ends, in whatever way, all of them
    /// end and the temporary folder goes; SIGINT, SIGTERM and SIGHUP end it with 128 and their number as its status.
    ///
    /// - Throws: where this process has other threads, where no temporary folder can be made, and what `tell` throws.
    public func judge(_ checks: [ConformanceCheck], jobs: Int, _ tell: (CheckResult) throws -> Void) throws {
        guard ProcessCensus.threads().count == 1 else { throw SeveralThreads() }
        var judge = self
        let folder = if let folder { folder } else { try RunFolder() }
        judge.folder = folder
        defer { if self.folder == nil { folder.remove() } }
        JudgeSignals.observe(folder)
        defer { JudgeSignals.restore() }
        // What is the parent's of a keeper that the plugin has ended becomes this process's own.
        _ = portolan_adopt_descendants(1)
        defer { _ = portolan_adopt_descendants(0) }
        let openness = portolan_set_open_to_others(0)
        defer { _ = portolan_set_open_to_others(openness) }
        let isJudged = memcheck == nil && subject.library != nil
        var standing = StandingState(of: isJudged ? subject.library : nil)
        var leftovers = Leftovers(of: checks, isJudged: isJudged)
        var contradictions = Contradictions(isJudged: isJudged)
        try judge.make(checks, jobs, &standing) { outcome in
            if let result = leftovers.note(outcome), let result = contradictions.note(result) { try tell(result) }
        }
        for result in leftovers.results {
            if let result = contradictions.note(result) { try tell(result) }
        }
        // Rules that are blamed and were not to be judged: they count where they are broken.
        let blamed = contradictions.unmade
        if !blamed.isEmpty {
            try judge.make(blamed, jobs, &standing) { outcome in
                if let result = contradictions.note(outcome.result), result.verdict.isFailure { try tell(result) }
            }
        }
        for result in contradictions.results { try tell(result) }
    }

    private func make(
        _ checks: [ConformanceCheck], _ jobs: Int, _ standing: inout StandingState, _ tell: (Keeper.Outcome) throws -> Void
    ) throws {
        var names = StackNames()
        var keepers = Keepers(self, checks, max(1, min(jobs, checks.count)))
        defer { keepers.end() }
        while let outcomes = keepers.next() {
            for var outcome in outcomes {
                // Under Valgrind, whose log tells of it, what is started here is as slow as all else.
                if memcheck == nil { outcome.result.nameCrash(by: &names, library: subject.library) }
                if !standing.review(&outcome), let keeper = outcome.keeper { keepers.end(keeper) }
                try tell(outcome)
            }
        }
    }

    public struct SeveralThreads: Error, CustomStringConvertible {
        public var description: String { "this process has several threads, and can't be copied for each check; make the checks in it" }
    }
}
