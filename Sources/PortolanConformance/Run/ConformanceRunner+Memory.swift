// SPDX-License-Identifier: Apache-2.0

extension ConformanceRunner {
    /// Runs `checks` as ``run(_:jobs:_:)`` does, in a command that runs under Valgrind, and returns memcheck's
    /// findings about the plugin: one result for each MEM rule. The results of the checks themselves are ignored,
    /// because they need a plugin at normal speed.
    ///
    /// - Parameters:
    ///   - checks: The checks to run; each can take ten times ``timeLimit``.
    ///   - jobs: The number of checks that run in parallel.
    ///   - run: The logs of the Valgrind under which this command runs.
    ///   - reportProgress: Called when a check ends. The argument is whether memcheck found a new error.
    /// - Throws: If this process has other threads, and errors of `reportProgress`.
    public func checkMemory(
        during checks: [ConformanceCheck], jobs: Int, _ run: MemcheckRun, _ reportProgress: (Bool) throws -> Void
    ) throws -> [CheckResult] {
        var runner = self
        runner.memcheck = run
        runner.timeLimit = timeLimit * MemcheckRun.slowness
        var observer = MemoryObserver(run.scope)
        try runner.run(checks, jobs: jobs) { result in
            let count = observer.count
            observer.add(result)
            try reportProgress(observer.count > count)
        }
        return observer.results
    }
}

/// Collects memcheck's findings from the processes of all checks.
struct MemoryObserver {
    /// One error, which several checks may have shown.
    private struct ObservedError {
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

    private var observedErrors: [String: [(key: Key, ObservedError)]] = [:]
    private var (completedCount, skippedCount) = (0, 0)
    /// Checks that memcheck could not observe completely.
    private var incompleteChecks: [Finding] = []
    /// How a check ended early, if memcheck found no reason for it.
    private var crash: String?
    private var duration = Duration.zero

    private static let maximumFindingCount = 20

    init(_ scope: MemcheckScope) { self.scope = scope }

    /// The number of errors.
    var count: Int { observedErrors.values.reduce(0) { $0 + $1.count } }

    mutating func add(_ result: CheckResult) {
        let id = result.rule.id
        duration += result.duration
        guard let log = result.memory else {
            skippedCount += 1
            if result.verdict != .skipped { addIncompleteCheck(id, "Valgrind wrote no log of this check") }
            return
        }
        // The check's process crashed, and its log has no end, so Valgrind itself has failed.
        if result.verdict == .crashed, !log.isWhole {
            skippedCount += 1
            addIncompleteCheck(
                id, "Valgrind gave up, perhaps because it can't read the debug information; build the library with -gdwarf-4, or strip it")
            return
        }
        if result.verdict == .skipped { skippedCount += 1 } else { completedCount += 1 }
        let isEnded = result.verdict == .crashed || result.verdict == .hung
        if isEnded || !log.isWhole { addIncompleteCheck(id, "its leaks are unknown: \(result.note ?? "it ended early")") }
        let count = count
        defer {
            // No signal ended the process, so the plugin ended it before memcheck was done.
            if result.verdict == .crashed, self.count == count, let note = result.note, !note.hasPrefix("ended by") {
                crash = crash ?? "\(id): \(note)"
            }
            // An invalid memory access ended the process, and memcheck did not report it.
            if result.verdict == .crashed, self.count == count, let note = result.note, note.contains("SIGSEGV") || note.contains("SIGBUS")
            {
                let key = Key(kind: note, stack: [], origins: [])
                observedErrors["MEM-01", default: []].append((key, ObservedError(phrase: note, stack: result.stack, ids: [id])))
            }
        }
        for error in log.errors {
            guard let rule = error.rule, let attribution = scope.attribution(of: error) else { continue }
            // Memory of an instance or a load that the check could not end is still in use.
            if error.isLeak, isEnded || result.hasLeftOpen { continue }
            add(error, attribution, of: rule, in: id)
        }
    }

    private mutating func addIncompleteCheck(_ id: String, _ phrase: String) {
        var finding = Finding(.warning, "\(id): \(phrase)")
        finding.seenIn = id
        if !incompleteChecks.contains(finding) { incompleteChecks.append(finding) }
    }

    private mutating func add(_ error: MemcheckError, _ attribution: MemcheckScope.Attribution, of rule: String, in id: String) {
        let key = key(of: error, attribution)
        if let place = observedErrors[rule]?.firstIndex(where: { $0.key == key }) {
            observedErrors[rule]?[place].1.ids.insert(id)
        } else {
            observedErrors[rule, default: []].append(
                (key, ObservedError(phrase: phrase(of: error, attribution), stack: stack(of: error), ids: [id])))
        }
    }

    /// The key of errors at one place in the plugin's code. The key ignores sizes, which can vary, and the runner's
    /// code that read a borrowed block, because the runner reads such a block in several places.
    private func key(of error: MemcheckError, _ attribution: MemcheckScope.Attribution) -> Key {
        let origins = Set(error.origins.filter { !$0.stack.isEmpty }.map(\.stack))
        switch attribution {
        case .inPluginCode: return Key(kind: error.kind, stack: error.stack, origins: origins)
        case .inPassedBlock: return Key(kind: nil, stack: scope.partFromPlugin(error.stack), origins: origins)
        }
    }

    private func phrase(of error: MemcheckError, _ attribution: MemcheckScope.Attribution) -> String {
        let about = error.origins.filter { $0.stack.isEmpty }.map(\.phrase)
        let place = attribution == .inPassedBlock ? "in memory borrowed from the plugin: " : ""
        return place + ([error.phrase] + about).joined(separator: "; ")
    }

    private func stack(of error: MemcheckError) -> [String] {
        error.origins.filter { !$0.stack.isEmpty }.reduce(into: scope.lines(of: error.stack)) { lines, origin in
            lines += ["\(origin.phrase):"] + scope.lines(of: origin.stack)
        }
    }

    /// One result for each MEM rule.
    var results: [CheckResult] {
        let why = completedCount == 0 ? incompleteChecks.first.map { "; \($0.detail)" } ?? "" : ""
        let note = "\(ValueFormatting.count(completedCount, "check")) ran under memcheck; skipped: \(skippedCount)\(why)"
        return RuleCatalogue.memory.map(\.rule).map { rule in
            let ruleErrors = observedErrors[rule.id] ?? []
            var findings = ruleErrors.prefix(Self.maximumFindingCount).map { $0.1.finding }
            if ruleErrors.count > Self.maximumFindingCount {
                findings.append(Finding(.failure, "\(ruleErrors.count - Self.maximumFindingCount) more"))
            }
            if rule.id == "MEM-04" || completedCount == 0 { findings += incompleteChecks.prefix(Self.maximumFindingCount) }
            // If the plugin ended the process before memcheck found an error, the plugin must not pass the rule.
            let verdictWithoutErrors: Verdict =
                crash != nil ? .crashed : completedCount == 0 ? .skipped : findings.isEmpty ? .passed : .warned
            let phrase = ruleErrors.isEmpty ? crash.map { "\($0); \(note)" } ?? note : note
            var result = CheckResult(rule, ruleErrors.isEmpty ? verdictWithoutErrors : .failed, findings: findings, note: phrase)
            result.duration = duration
            return result
        }
    }
}
