// SPDX-License-Identifier: Apache-2.0

import PortolanJSON

/// The results of all checks together.
public struct Summary: Sendable {
    public let results: [CheckResult]

    public init(_ results: [CheckResult]) {
        let ruleIndexes = Dictionary(RuleCatalogue.rules.enumerated().map { ($1.id, $0) }) { first, _ in first }
        self.results = results.enumerated().sorted { a, b in
            (ruleIndexes[a.element.rule.id, default: 0], a.offset) < (ruleIndexes[b.element.rule.id, default: 0], b.offset)
        }.map(\.element)
    }

    public func count(_ verdict: Verdict) -> Int { results.count { $0.verdict == verdict } }

    /// Whether no check failed and at least one was made.
    public var isSuccess: Bool { !results.contains { $0.verdict.isFailure } && !isSkippedEntirely }

    /// Whether every check was skipped.
    public var isSkippedEntirely: Bool { results.allSatisfy { $0.verdict == .skipped } }

    /// For example `68 checks: 60 passed, 1 failed; skipped: 7`.
    public var line: String {
        let completed = Verdict.allCases.filter { $0 != .skipped && count($0) > 0 }.map { "\(count($0)) \($0.rawValue)" }
        let skippedCount = count(.skipped)
        return "\(ValueFormatting.count(results.count, "check")): \(completed.isEmpty ? "none made" : completed.joined(separator: ", "))"
            + (skippedCount > 0 ? "; skipped: \(skippedCount)" : "")
    }

    /// The causes, such as a crash, that ended the checks of several rules, with the IDs of these rules in the
    /// catalogue's order. The most frequent cause comes first.
    var causes: [(phrase: String, ids: [String])] {
        Dictionary(grouping: results.filter { $0.cause != nil }, by: \.cause).compactMap { cause, results in
            let ids = results.reduce(into: [String]()) { if $0.last != $1.rule.id { $0.append($1.rule.id) } }
            return cause.flatMap { ids.count > 1 ? ($0.phrase, ids) : nil }
        }.sorted { ($1.ids.count, $0.phrase, $0.ids[0]) < ($0.ids.count, $1.phrase, $1.ids[0]) }
    }

    /// One line for each cause, for example `57 checks ended in the same way: it crashed in run (tide.c:13); fix that
    /// first, then check again: DESC-05, REG-04, REG-05 and 54 others`.
    public var causeLines: [String] {
        causes.map { cause in
            let omittedCount = cause.ids.count - 3
            return
                "\(ValueFormatting.count(cause.ids.count, "check")) ended in the same way: \(cause.phrase); fix that first, then check again: "
                + cause.ids.prefix(3).joined(separator: ", ")
                + (omittedCount > 0 ? " and \(ValueFormatting.count(omittedCount, "other"))" : "")
        }
    }

    /// One line for each error that failed several checks, for example `3 checks failed with the same error,
    /// badResponse: 'the table is missing'; fix that first, then check again: BODY-01, CHAL-03, LIFE-10`.
    public var errorLines: [String] {
        let groups = Dictionary(grouping: results.filter { $0.sharedError != nil }) { $0.sharedError ?? "" }
        return groups.compactMap { error, results -> (line: String, count: Int)? in
            let ids = results.reduce(into: [String]()) { if $0.last != $1.rule.id { $0.append($1.rule.id) } }
            guard ids.count > 1 else { return nil }
            return (
                "\(ids.count) checks failed with the same error, \(error); fix that first, then check again: \(ids.joined(separator: ", "))",
                ids.count
            )
        }.sorted { ($1.count, $0.line) < ($0.count, $1.line) }.map(\.line)
    }

    /// One line for each reason, such as a missing manifest, for which several checks were skipped. The most frequent
    /// reason comes first; at most `limit` lines.
    public func skipReasonLines(_ limit: Int) -> [String] {
        let reasons = Dictionary(grouping: results.filter { $0.verdict == .skipped }) { $0.note ?? "" }.filter { $0.value.count > 1 }
            .sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
        return reasons.prefix(limit).map { "skipped: \($0.value.count), because \($0.key)" }
    }

    /// One line for each category, with its title, its ID, and the number of its checks for each verdict.
    public var categoryLines: [String] {
        let rows = RuleCatalogue.categories.compactMap { category -> (title: String, counts: String)? in
            let categoryResults = results.filter { $0.rule.category == category.id }
            guard !categoryResults.isEmpty else { return nil }
            let counts = Verdict.allCases.compactMap { verdict -> String? in
                let count = categoryResults.count { $0.verdict == verdict }
                return count == 0 ? nil : "\(count) \(verdict.rawValue)"
            }
            return ("\(category.title) (\(category.id))", counts.joined(separator: ", "))
        }
        let width = rows.map(\.title.count).max() ?? 0
        return rows.map { "\($0.title.padded(to: width))  \($0.counts)" }
    }
}

extension String {
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
