// SPDX-License-Identifier: Apache-2.0

import PortolanPlugins

/// The processes that outlived checks: UNLOAD-04, which is judged during all of them.
struct Leftovers {
    private static let id = "UNLOAD-04"

    private let isJudged: Bool
    private var held: [CheckResult] = []
    /// The checks that left some.
    private var seen: [(id: String, names: [String])] = []

    init(of checks: [ConformanceCheck], isJudged: Bool) { self.isJudged = isJudged }

    /// Notes what a check left. Gives its result back, except that of the rule itself, which waits for the other checks.
    mutating func note(_ outcome: Supervisor.Outcome) -> CheckResult? {
        let result = outcome.result
        // What an instance has started that the check could not end is not left over, and the end of one that crashed is no end.
        let isOver = !result.hasLeftOpen && result.verdict != .crashed && result.verdict != .hung
        if isJudged, isOver, !outcome.left.isEmpty { seen.append((result.rule.id, outcome.left)) }
        guard result.rule.id == Self.id else { return result }
        held.append(result)
        return nil
    }

    /// Those of the rule itself, or, where it was not to be judged and is broken, one.
    var results: [CheckResult] {
        guard let first = seen.min(by: { Self.place($0.id) < Self.place($1.id) }), let rule = RuleCatalogue.rule(Self.id) else {
            return held
        }
        let names = Set(first.names).sorted().map { "'\($0)'" }.joined(separator: ", ")
        let count = Set(seen.map(\.id)).count - 1
        let others = count > 0 ? "; so it is after \(ValueFormatting.count(count, "other check"))" : ""
        var finding = Finding(
            .failure,
            Text.oneLine(
                "\(first.id): \(first.names.count == 1 ? "a process" : "\(first.names.count) processes") outlived the check: \(names)\(others)",
                limit: 1000))
        if first.id != Self.id { finding.seenIn = first.id }
        let results = held.isEmpty ? [CheckResult(rule, .failed)] : held
        return results.map { result in
            guard result.verdict != .crashed, result.verdict != .hung else { return result }
            var result = result
            (result.verdict, result.findings) = (.failed, result.findings + [finding])
            return result
        }
    }

    private static func place(_ id: String) -> Int { RuleCatalogue.rules.firstIndex { $0.id == id } ?? 0 }
}
