// SPDX-License-Identifier: Apache-2.0

extension ConformanceRunner {
    /// Runs `checks` as ``run(_:jobs:_:)`` does, in a command that runs under Valgrind, and returns memcheck's
    /// findings about the plugin: one result for each MEM rule. The results of the checks themselves are ignored,
    /// because they need a plugin at normal speed.
    ///
    /// - Parameters:
    ///   - checks: The checks to run; each can take ten times ``timeLimit``.
    ///   - jobs: The number of checks that run in parallel.
    ///   - run: The logs of the Valgrind that this command runs under.
    ///   - tell: Called as each check ends, with whether memcheck found an error.
    /// - Throws: If this process has other threads, and errors of `tell`.
    public func checkMemory(
        during checks: [ConformanceCheck], jobs: Int, _ run: MemcheckRun, _ tell: (Bool) throws -> Void
    ) throws -> [CheckResult] {
        var runner = self
        runner.memcheck = run
        runner.timeLimit = timeLimit * MemcheckRun.slowness
        var sight = MemoryObserver(run.scope)
        try runner.run(checks, jobs: jobs) { result in
            let count = sight.count
            sight.add(result)
            try tell(sight.count > count)
        }
        return sight.results
    }
}

/// Collects memcheck's findings from the processes of all checks.
struct MemoryObserver {
    /// One error, which several checks may have shown.
    private struct Seen {
        let phrase: String
        let stack: [String]
        /// The IDs of the checks.
        var ids: Set<String>

        var finding: Finding {
            // The first check of the catalogue, so that the result does not depend on the order of completion.
            let first = RuleCatalogue.rules.first { ids.contains($0.id) }?.id ?? ""
            let others = ids.count > 1 ? "; also in \(ValueFormatting.count(ids.count - 1, "other check"))" : ""
            var finding = Finding(.failure, "\(first): \(phrase)\(others)")
            (finding.seenIn, finding.stack) = (first, stack)
            return finding
        }
    }

    private let scope: MemcheckScope
    private struct Key: Hashable {
        let kind: String?
        let stack: [StackFrame]
        let origins: Set<[StackFrame]>
    }

    private var seen: [String: [(key: Key, Seen)]] = [:]
    private var (completedCount, skipped) = (0, 0)
    /// Checks that memcheck could not observe completely.
    private var unseen: [Finding] = []
    /// How a check ended early, if memcheck found no reason for it.
    private var crash: String?
    private var duration = Duration.zero

    private static let largestCount = 20

    init(_ scope: MemcheckScope) { self.scope = scope }

    /// The number of errors.
    var count: Int { seen.values.reduce(0) { $0 + $1.count } }

    mutating func add(_ result: CheckResult) {
        let id = result.rule.id
        duration += result.duration
        guard let log = result.memory else {
            skipped += 1
            if result.verdict != .skipped { miss(id, "Valgrind wrote no log of this check") }
            return
        }
        // The process ended itself, and the log has no end. So Valgrind gave up.
        if result.verdict == .crashed, !log.isWhole {
            skipped += 1
            miss(id, "Valgrind gave up, perhaps because it can't read the debug information; build the library with -gdwarf-4, or strip it")
            return
        }
        if result.verdict == .skipped { skipped += 1 } else { completedCount += 1 }
        let isEnded = result.verdict == .crashed || result.verdict == .hung
        if isEnded || !log.isWhole { miss(id, "its leaks are unknown: \(result.note ?? "it ended early")") }
        let count = count
        defer {
            // No signal ended the process, so the plugin ended it before memcheck was done.
            if result.verdict == .crashed, self.count == count, let note = result.note, !note.hasPrefix("ended by") {
                crash = crash ?? "\(id): \(note)"
            }
            // An access ended the process, and memcheck did not report it.
            if result.verdict == .crashed, self.count == count, let note = result.note, note.contains("SIGSEGV") || note.contains("SIGBUS")
            {
                let key = Key(kind: note, stack: [], origins: [])
                seen["MEM-01", default: []].append((key, Seen(phrase: note, stack: result.stack, ids: [id])))
            }
        }
        for error in log.errors {
            guard let rule = error.rule, let guilt = scope.guilt(of: error) else { continue }
            // Memory of an instance or a load that the check could not end is still in use.
            if error.isLeak, isEnded || result.hasLeftOpen { continue }
            add(error, guilt, of: rule, in: id)
        }
    }

    private mutating func miss(_ id: String, _ phrase: String) {
        var finding = Finding(.warning, "\(id): \(phrase)")
        finding.seenIn = id
        if !unseen.contains(finding) { unseen.append(finding) }
    }

    private mutating func add(_ error: MemcheckError, _ guilt: MemcheckScope.Guilt, of rule: String, in id: String) {
        let key = key(of: error, guilt)
        if let place = seen[rule]?.firstIndex(where: { $0.key == key }) {
            seen[rule]?[place].1.ids.insert(id)
        } else {
            seen[rule, default: []].append((key, Seen(phrase: phrase(of: error, guilt), stack: stack(of: error), ids: [id])))
        }
    }

    /// The key of errors at one place in the plugin's code. It ignores sizes, which can vary, and the runner's place,
    /// because the runner reads a borrowed block more than once.
    private func key(of error: MemcheckError, _ guilt: MemcheckScope.Guilt) -> Key {
        let origins = Set(error.origins.filter { !$0.stack.isEmpty }.map(\.stack))
        switch guilt {
        case .did: return Key(kind: error.kind, stack: error.stack, origins: origins)
        case .lent: return Key(kind: nil, stack: scope.ofPlugin(error.stack), origins: origins)
        }
    }

    private func phrase(of error: MemcheckError, _ guilt: MemcheckScope.Guilt) -> String {
        let about = error.origins.filter { $0.stack.isEmpty }.map(\.phrase)
        return (guilt == .lent ? "in memory borrowed from the plugin: " : "") + ([error.phrase] + about).joined(separator: "; ")
    }

    private func stack(of error: MemcheckError) -> [String] {
        error.origins.filter { !$0.stack.isEmpty }.reduce(into: scope.lines(of: error.stack)) { lines, origin in
            lines += ["\(origin.phrase):"] + scope.lines(of: origin.stack)
        }
    }

    /// One result for each MEM rule.
    var results: [CheckResult] {
        let why = completedCount == 0 ? unseen.first.map { "; \($0.detail)" } ?? "" : ""
        let note = "\(ValueFormatting.count(completedCount, "check")) ran under memcheck; skipped: \(skipped)\(why)"
        return RuleCatalogue.memory.map(\.rule).map { rule in
            let own = seen[rule.id] ?? []
            var findings = own.prefix(Self.largestCount).map { $0.1.finding }
            if own.count > Self.largestCount { findings.append(Finding(.failure, "\(own.count - Self.largestCount) more")) }
            if rule.id == "MEM-04" || completedCount == 0 { findings += unseen.prefix(Self.largestCount) }
            // A plugin that ends the process early does not pass a rule by that.
            let unbroken: Verdict = crash != nil ? .crashed : completedCount == 0 ? .skipped : findings.isEmpty ? .passed : .warned
            let phrase = own.isEmpty ? crash.map { "\($0); \(note)" } ?? note : note
            var result = CheckResult(rule, own.isEmpty ? unbroken : .failed, findings: findings, note: phrase)
            result.duration = duration
            return result
        }
    }
}
