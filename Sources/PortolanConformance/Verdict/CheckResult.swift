// SPDX-License-Identifier: Apache-2.0

/// What one check saw of one plugin.
public struct CheckResult: Hashable, Sendable {
    public let rule: ConformanceRule
    public internal(set) var verdict: Verdict
    public internal(set) var findings: [Finding]
    /// Why it could not be judged, or how it ended; one line.
    public internal(set) var note: String?
    /// The last calls across the boundary, oldest first; of a check that failed, crashed or hung.
    public internal(set) var lastEvents: [String]
    /// Where a crash happened, innermost first, as far as it could be told.
    public internal(set) var stack: [String]
    public internal(set) var duration: Duration
    /// Whether an instance or a load was left that the judge did not end: what that holds is not lost, and no leak.
    var hasLeftOpen = false
    /// What memcheck wrote of the process that made the check; `nil` where it did not run under Valgrind.
    var memory: MemcheckLog?

    init(_ rule: ConformanceRule, _ verdict: Verdict, findings: [Finding] = [], note: String? = nil) {
        self.rule = rule
        self.verdict = verdict
        self.findings = findings
        self.note = note
        (lastEvents, stack, duration) = ([], [], .zero)
    }
}
