// SPDX-License-Identifier: Apache-2.0

/// A rule of the catalogue, with its check beside it.
struct CheckedRule: Sendable {
    let rule: ConformanceRule
    /// `nil` if the rule has no check of its own, like the rules of ``RuleCatalogue/memory``.
    let check: ConformanceCheck?

    /// - Parameters:
    ///   - sentence: The requirement.
    ///   - reason: Why it matters.
    ///   - remedy: How to repair a plugin that violates the rule.
    ///   - scenario: The kind of test URL that the check needs; `nil` if it needs none.
    ///   - needsProcess: ``ConformanceCheck/needsProcess``.
    static func must(
        _ id: String, level: Int, isEnforced: Bool = false, needs scenario: ConformanceRule.Scenario? = nil,
        _ sentence: String, because reason: String, remedy: String, needsProcess: Bool = false, check: ConformanceCheck.Body? = nil
    ) -> Self {
        let rule = ConformanceRule(
            id: id, level: level, force: .must, isEnforced: isEnforced, sentence: sentence, reason: reason, remedy: remedy,
            scenario: scenario)
        return Self(rule: rule, check: check.map { ConformanceCheck(rule, needsProcess: needsProcess, $0) })
    }

    /// A rule whose violation is a warning.
    static func should(
        _ id: String, level: Int, isEnforced: Bool = false, needs scenario: ConformanceRule.Scenario? = nil,
        _ sentence: String, because reason: String, remedy: String, needsProcess: Bool = false, check: ConformanceCheck.Body? = nil
    ) -> Self {
        let rule = ConformanceRule(
            id: id, level: level, force: .should, isEnforced: isEnforced, sentence: sentence, reason: reason, remedy: remedy,
            scenario: scenario)
        return Self(rule: rule, check: check.map { ConformanceCheck(rule, needsProcess: needsProcess, $0) })
    }
}
