// SPDX-License-Identifier: Apache-2.0

extension Judge {
    /// Makes `checks` as ``judge(_:jobs:_:)`` does, in a command that runs under Valgrind, and gives what memcheck saw of the plugin meanwhile: one
    /// result for each rule of MEM. What the checks are about is not judged: that wants a plugin at its own speed.
    ///
    /// - Parameters:
    ///   - checks: what is made; each may take ten times ``timeLimit``.
    ///   - jobs: how many at once.
    ///   - run: the logs of Valgrind that this command runs under.
    ///   - tell: called as each check ends, with whether memcheck saw something.
    /// - Throws: where this process has other threads, and what `tell` throws.
    public func judgeMemory(
        during checks: [ConformanceCheck], jobs: Int, _ run: MemcheckRun, _ tell: (Bool) throws -> Void
    ) throws -> [CheckResult] {
        var judge = self
        judge.memcheck = run
        judge.timeLimit = timeLimit * MemcheckRun.slowness
        var sight = MemorySight(run.scope)
        try judge.judge(checks, jobs: jobs) { result in
            let count = sight.count
            sight.note(result)
            try tell(sight.count > count)
        }
        return sight.results
    }
}

/// What memcheck saw in the processes of all checks.
struct MemorySight {
    /// An error that many checks see is one.
    private struct Seen {
        let words: String
        let stack: [String]
        /// The checks.
        var ids: Set<String>

        var finding: Finding {
            // Of all, always the same one, whichever ended first.
            let first = RuleCatalogue.rules.first { ids.contains($0.id) }?.id ?? ""
            let others = ids.count > 1 ? "; in \(Words.count(ids.count - 1, "other check")) as well" : ""
            var finding = Finding(.failure, "\(first): \(words)\(others)")
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
    private var (made, skipped) = (0, 0)
    /// Checks of which something could not be seen.
    private var unseen: [Finding] = []
    /// How a check ended that came to no end, where memcheck saw no reason for it.
    private var crash: String?
    private var duration = Duration.zero

    private static let largestCount = 20

    init(_ scope: MemcheckScope) { self.scope = scope }

    /// How many errors there are.
    var count: Int { seen.values.reduce(0) { $0 + $1.count } }

    mutating func note(_ result: CheckResult) {
        let id = result.rule.id
        duration += result.duration
        guard let log = result.memory else {
            skipped += 1
            if result.verdict != .skipped { miss(id, "Valgrind wrote no log of it") }
            return
        }
        // A process that ended itself, without a word from Valgrind of its end: it was Valgrind that gave up.
        if result.verdict == .crashed, !log.isWhole {
            skipped += 1
            miss(id, "Valgrind gave up, perhaps at debug information that it can't read: build the library with -gdwarf-4, or strip it")
            return
        }
        if result.verdict == .skipped { skipped += 1 } else { made += 1 }
        let isEnded = result.verdict == .crashed || result.verdict == .hung
        if isEnded || !log.isWhole { miss(id, "its leaks are not known: \(result.note ?? "it ended early")") }
        let count = count
        defer {
            // No signal ended it, so it was the plugin that did not want to be seen to the end.
            if result.verdict == .crashed, self.count == count, let note = result.note, !note.hasPrefix("ended by") {
                crash = crash ?? "\(id): \(note)"
            }
            // An access that ended the process, and that memcheck had no words for.
            if result.verdict == .crashed, self.count == count, let note = result.note, note.contains("SIGSEGV") || note.contains("SIGBUS")
            {
                let key = Key(kind: note, stack: [], origins: [])
                seen["MEM-01", default: []].append((key, Seen(words: note, stack: result.stack, ids: [id])))
            }
        }
        for error in log.errors {
            guard let rule = error.rule, let guilt = scope.guilt(of: error) else { continue }
            // What an instance or a load holds that the check could not end is still in use.
            if error.isLeak, isEnded || result.hasLeftOpen { continue }
            note(error, guilt, of: rule, in: id)
        }
    }

    private mutating func miss(_ id: String, _ words: String) {
        var finding = Finding(.warning, "\(id): \(words)")
        finding.seenIn = id
        if !unseen.contains(finding) { unseen.append(finding) }
    }

    private mutating func note(_ error: MemcheckError, _ guilt: MemcheckScope.Guilt, of rule: String, in id: String) {
        let key = key(of: error, guilt)
        if let place = seen[rule]?.firstIndex(where: { $0.key == key }) {
            seen[rule]?[place].1.ids.insert(id)
        } else {
            seen[rule, default: []].append((key, Seen(words: words(of: error, guilt), stack: stack(of: error), ids: [id])))
        }
    }

    /// What errors of one place in the plugin's code have in common: sizes may be others each time, and what is lent the judge looks at more than once.
    private func key(of error: MemcheckError, _ guilt: MemcheckScope.Guilt) -> Key {
        let origins = Set(error.origins.filter { !$0.stack.isEmpty }.map(\.stack))
        switch guilt {
        case .did: return Key(kind: error.kind, stack: error.stack, origins: origins)
        case .lent: return Key(kind: nil, stack: scope.ofPlugin(error.stack), origins: origins)
        }
    }

    private func words(of error: MemcheckError, _ guilt: MemcheckScope.Guilt) -> String {
        let about = error.origins.filter { $0.stack.isEmpty }.map(\.words)
        return (guilt == .lent ? "what the judge was lent: " : "") + ([error.words] + about).joined(separator: "; ")
    }

    private func stack(of error: MemcheckError) -> [String] {
        error.origins.filter { !$0.stack.isEmpty }.reduce(into: scope.told(error.stack)) { lines, origin in
            lines += ["\(origin.words):"] + scope.told(origin.stack)
        }
    }

    /// One for each rule of MEM.
    var results: [CheckResult] {
        let why = made == 0 ? unseen.first.map { "; \($0.detail)" } ?? "" : ""
        let note = "\(Words.count(made, "check")) \(made == 1 ? "was" : "were") made under memcheck; not judged: \(skipped)\(why)"
        return RuleCatalogue.memory.map { rule in
            let own = seen[rule.id] ?? []
            var findings = own.prefix(Self.largestCount).map { $0.1.finding }
            if own.count > Self.largestCount { findings.append(Finding(.failure, "\(own.count - Self.largestCount) more")) }
            if rule.id == "MEM-04" || made == 0 { findings += unseen.prefix(Self.largestCount) }
            // A plugin that ends the process before something is seen keeps no rule by that.
            let unbroken: Verdict = crash != nil ? .crashed : made == 0 ? .skipped : findings.isEmpty ? .passed : .warned
            let words = own.isEmpty ? crash.map { "\($0); \(note)" } ?? note : note
            var result = CheckResult(rule, own.isEmpty ? unbroken : .failed, findings: findings, note: words)
            result.duration = duration
            return result
        }
    }
}
