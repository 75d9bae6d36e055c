// SPDX-License-Identifier: Apache-2.0

/// Finds plugins that behave differently from check to check: a check was skipped because another rule is violated, but
/// the check of that other rule found no violation. Then the skipped check fails.
struct Contradictions {
    private let isEnabled: Bool
    private var verdicts: [String: [Verdict]] = [:]
    private var deferredResults: [CheckResult] = []

    init(isEnabled: Bool) { self.isEnabled = isEnabled }

    /// Records the result of a check and returns it, unless it blames another rule and has to wait for that rule's
    /// check.
    mutating func add(_ result: CheckResult) -> CheckResult? {
        verdicts[result.rule.id, default: []].append(result.verdict)
        guard isEnabled, result.verdict == .skipped, result.shortage == nil, !Self.blamed(by: result).isEmpty else { return result }
        deferredResults.append(result)
        return nil
    }

    /// The checks of blamed rules that have not been made.
    var missingChecks: [ConformanceCheck] {
        let blamed = Set(deferredResults.flatMap { Self.blamed(by: $0).joined() })
        return ConformanceCheck.all.filter { blamed.contains($0.id) && verdicts[$0.id] == nil }
    }

    /// The results that ``add(_:)`` has deferred.
    var results: [CheckResult] {
        deferredResults.map { result in
            guard Self.blamed(by: result).contains(where: { $0.allSatisfy(isContradicted) }) else { return result }
            var result = result
            let reason = result.note ?? ""
            result.fail("the plugin behaved differently from one check to another: here \(reason), but that rule's check passed")
            return result
        }
    }

    /// Whether the check of the rule passed, but would have failed if the plugin violated the rule.
    private func isContradicted(_ id: String) -> Bool {
        guard let verdicts = verdicts[id], !verdicts.isEmpty, verdicts.allSatisfy({ $0 == .passed || $0 == .warned }) else { return false }
        return switch Self.scope(of: id) {
        case .plugin: true
        // A violation of another rule can prevent one load; the check of that rule fails then.
        case .load: !self.verdicts.values.joined().contains(where: \.isFailure)
        case .time: false
        }
    }

    private enum Scope { case plugin, load, time }

    /// What a rule is about: the whole plugin; one load; or the time until a load is idle after a stop, which depends
    /// on slow peers.
    private static func scope(of id: String) -> Scope {
        if id == "CAN-01" || ["DESC", "REG", "MANIF"].contains(RuleCatalogue.rule(id)?.category) { return .plugin }
        return id == "LIFE-06" || id == "ORDER-07" || id.hasPrefix("CANCEL-") ? .time : .load
    }

    /// The rules in each pair of brackets, for example in `'tide:' was still running after a stop (CANCEL-04,
    /// ORDER-07)`. The note says that the plugin violates one of the rules of each pair.
    private static func blamed(by result: CheckResult) -> [[String]] {
        var groups: [[String]] = []
        for part in (result.note ?? "").split(separator: "(").dropFirst() {
            guard let end = part.firstIndex(of: ")") else { continue }
            let ids = part[..<end].replacing(" ", with: "").split(separator: ",").map(String.init)
            if !ids.isEmpty, ids.allSatisfy({ RuleCatalogue.rule($0) != nil }) { groups.append(ids) }
        }
        return groups
    }
}
