// SPDX-License-Identifier: Apache-2.0

/// What a check came to.
public enum Verdict: String, Hashable, Sendable, CaseIterable {
    case passed, failed, warned
    /// It could not be judged, and the reason is told; never a pass.
    case skipped
    /// The process that ran the check was ended by a signal, or ended itself.
    case crashed
    /// The check did not come back within its time.
    case hung

    /// What the findings of a check that came to its end amount to. They count even where the rest could not be judged.
    static func of(_ findings: [Finding], _ rule: ConformanceRule, isUnjudged: Bool) -> Self {
        guard !findings.isEmpty else { return isUnjudged ? .skipped : .passed }
        return rule.force == .must && findings.contains { $0.weight == .failure } ? .failed : .warned
    }

    /// Whether the plugin fails for it.
    public var isFailure: Bool {
        switch self {
        case .failed, .crashed, .hung: true
        case .passed, .warned, .skipped: false
        }
    }
}
