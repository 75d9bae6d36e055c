// SPDX-License-Identifier: Apache-2.0

import PortolanPlugins

/// The processes that outlived their checks: UNLOAD-04, which is checked during all checks.
struct Leftovers {
    private static let id = "UNLOAD-04"

    private let isEnabled: Bool
    private var deferredResults: [CheckResult] = []
    /// The checks that left processes behind.
    private var checksWithLeftovers: [(id: String, names: [String])] = []

    init(isEnabled: Bool) { self.isEnabled = isEnabled }

    /// Records the processes that a check left. Returns the result of the check; `nil` for the check of UNLOAD-04,
    /// whose result waits for the other checks.
    mutating func add(_ outcome: SupervisorHandle.Outcome) -> CheckResult? {
        let result = outcome.result
        // After a crash, or if the check could not end an instance, remaining processes are no violation.
        let didEndOrderly = !result.hasLeftOpen && result.verdict != .crashed && result.verdict != .hung
        if isEnabled, didEndOrderly, !outcome.remainingProcessNames.isEmpty {
            checksWithLeftovers.append((result.rule.id, outcome.remainingProcessNames))
        }
        guard result.rule.id == Self.id else { return result }
        deferredResults.append(result)
        return nil
    }

    /// The results of the check of UNLOAD-04; or one failure if this check was not selected and the rule is violated.
    var results: [CheckResult] {
        guard let first = checksWithLeftovers.min(by: { Self.rulePosition($0.id) < Self.rulePosition($1.id) }),
            let rule = RuleCatalogue.rule(Self.id)
        else {
            return deferredResults
        }
        let names = Set(first.names).sorted().map { "'\($0)'" }.joined(separator: ", ")
        let count = Set(checksWithLeftovers.map(\.id)).count - 1
        let others = count > 0 ? "; the same after \(ValueFormatting.count(count, "other check"))" : ""
        var finding = Finding(
            .failure,
            Text.oneLine(
                "\(first.id): \(first.names.count == 1 ? "a process" : "\(first.names.count) processes") outlived the check: \(names)\(others)",
                limit: 1000))
        if first.id != Self.id { finding.seenIn = first.id }
        let results = deferredResults.isEmpty ? [CheckResult(rule, .failed)] : deferredResults
        return results.map { result in
            guard result.verdict != .crashed, result.verdict != .hung else { return result }
            var result = result
            (result.verdict, result.findings) = (.failed, result.findings + [finding])
            return result
        }
    }

    private static func rulePosition(_ id: String) -> Int { RuleCatalogue.rules.firstIndex { $0.id == id } ?? 0 }
}
