// SPDX-License-Identifier: Apache-2.0

/// The outcome of a check.
public enum Verdict: String, Hashable, Sendable, CaseIterable {
    case passed, failed, warned
    /// The check could not be made. The reason is reported. This does not count as passed.
    case skipped
    /// A signal ended the process that ran the check, or the process exited early.
    case crashed
    /// The check did not return within its time limit.
    case hung

    /// The verdict for the findings of a check that ran to its end. `wasSkipped` means that a part of the rule could
    /// not be checked. The findings of the other parts still count.
    static func of(_ findings: [Finding], _ rule: ConformanceRule, wasSkipped: Bool) -> Self {
        guard !findings.isEmpty else { return wasSkipped ? .skipped : .passed }
        return rule.force == .must && findings.contains { $0.weight == .failure } ? .failed : .warned
    }

    /// Whether a plugin with this verdict fails.
    public var isFailure: Bool {
        switch self {
        case .failed, .crashed, .hung: true
        case .passed, .warned, .skipped: false
        }
    }
}
