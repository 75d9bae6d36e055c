// SPDX-License-Identifier: Apache-2.0

/// What one check saw of one plugin.
public struct CheckResult: Hashable, Sendable {
    public let rule: ConformanceRule
    public internal(set) var verdict: Verdict
    public internal(set) var findings: [Finding]
    /// Why it could not be judged, or how it ended; one line.
    public internal(set) var note: String?
    /// The last calls across the boundary, oldest first: before what a check that failed found first, or before it crashed or hung.
    public internal(set) var lastEvents: [String]
    /// Where a crash happened, innermost first, as far as it could be told.
    public internal(set) var stack: [String]
    public internal(set) var duration: Duration
    /// Whether an instance or a load was left that the judge did not end: what that holds is not lost, and no leak.
    var hasLeftOpen = false
    /// Where the process that made the check crashed; `nil` where it did not, or could not say.
    var crash: CrashStack?
    /// The innermost function of the plugin's that it crashed in, as in `run (tide.c:13)`; `nil` where it is not known.
    var crashedIn: String?
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

extension CheckResult {
    /// What ended a check, in words that are the same for every check that it ended: a plugin that crashes in the first function that is called does so
    /// in most. `nil` where the check came to its end.
    var cause: String? {
        switch verdict {
        case .crashed: crashedIn.map { "it crashed in \($0)" } ?? note
        case .hung: lastEvents.last.map { "it hung; last: \(Self.call(in: $0))" }
        case .passed, .failed, .warned, .skipped: nil
        }
    }

    /// Of an event, without when and on which thread.
    private static func call(in event: String) -> String {
        event.split(separator: "  ", maxSplits: 2).last.map(String.init) ?? event
    }
}
