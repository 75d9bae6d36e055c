// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The keepers of one run, each with a check under way or none.
struct Keepers {
    private let judge: Judge
    private let checks: [ConformanceCheck]
    private let limit: Int
    private var waiting: Range<Int>
    private var all: [Keeper] = []

    init(_ judge: Judge, _ checks: [ConformanceCheck], _ limit: Int) {
        (self.judge, self.checks, self.limit, waiting) = (judge, checks, limit, checks.indices)
    }

    /// Waits until checks are over, and gives what came of them; `nil` when there are no more.
    mutating func next() -> [Keeper.Outcome]? {
        var outcomes: [Keeper.Outcome] = []
        while let number = waiting.first {
            do throws(Unjudged) {
                guard let keeper = try idle() else { break }
                keeper.make(checks[number], number)
            } catch {
                // Those that there are can make it.
                if !all.isEmpty { break }
                var result = CheckResult(checks[number].rule, .skipped, note: error.reason)
                result.lack = .fromTheStart
                outcomes.append(Keeper.Outcome(result: result))
            }
            waiting.removeFirst()
        }
        let busy = all.filter { $0.running != nil }
        guard !busy.isEmpty || !outcomes.isEmpty else { return nil }
        return outcomes + wait(busy)
    }

    private mutating func idle() throws(Unjudged) -> Keeper? {
        if let keeper = all.first(where: { $0.running == nil }) { return keeper }
        guard all.count < limit else { return nil }
        let keeper = try Keeper(judge, checks, beside: all)
        all.append(keeper)
        return keeper
    }

    private mutating func wait(_ busy: [Keeper]) -> [Keeper.Outcome] {
        guard let deadline = busy.compactMap({ $0.running?.deadline }).min() else { return [] }
        var descriptors = busy.map { pollfd(fd: $0.reports, events: Int16(POLLIN), revents: 0) }
        let left = min(max(deadline - MonotonicTime.now, .zero), .seconds(1))
        guard unsafe poll(&descriptors, nfds_t(descriptors.count), Int32(clamping: left.nanoseconds / 1_000_000 + 1)) >= 0 else {
            return []
        }
        // One that the plugin has stopped.
        for keeper in busy { kill(keeper.process, SIGCONT) }
        var outcomes: [Keeper.Outcome] = []
        for (index, keeper) in busy.enumerated() {
            guard let (outcome, isGone) = keeper.outcome(isReady: descriptors[index].revents != 0) else { continue }
            outcomes.append(outcome)
            guard isGone else { continue }
            all.removeAll { $0 === keeper }
            endOrphans()
        }
        return outcomes
    }

    /// Ends what the checks of a keeper that is gone have left: the children of this process that it did not make.
    private func endOrphans() {
        let own = Set(all.map(\.process) + [judge.folder?.remover].compactMap { $0 })
        let limit = MonotonicTime.now + .seconds(5)
        while MonotonicTime.now < limit {
            let orphans = KeeperProcess.children().filter { !own.contains($0) }
            if orphans.isEmpty { return }
            for orphan in orphans {
                kill(orphan, SIGKILL)
                var status: Int32 = 0
                unsafe waitpid(orphan, &status, 0)
            }
        }
    }

    /// Ends one of them that the plugin has made unfit.
    mutating func end(_ process: pid_t) {
        guard let keeper = all.first(where: { $0.process == process && $0.running == nil }) else { return }
        all.removeAll { $0 === keeper }
        keeper.end()
        endOrphans()
    }

    mutating func end() {
        for keeper in all { keeper.end() }
        all = []
    }
}
