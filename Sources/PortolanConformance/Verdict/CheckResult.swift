// SPDX-License-Identifier: Apache-2.0

import PortolanPlugins

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
    /// When the judge itself was short of what the system gives, where that is why the check was not made.
    var lack: Lack?
    /// Where the process that made the check crashed, and the same in names; `nil` where it did not, or could not say.
    var crashStack: CrashStack?
    var crash: CrashStack.Told?
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

/// When a process had no memory, process, thread or file for the judge.
enum Lack: UInt8, Hashable, Sendable {
    /// Before any code of the plugin's ran in it.
    case fromTheStart = 1
    /// It had some before.
    case later
}

extension CheckResult {
    /// Adds a finding that fails the plugin, in a check that came to its end.
    mutating func fail(_ detail: String) {
        findings.append(Finding(.failure, Text.oneLine(detail, limit: 1000)))
        guard verdict != .crashed, verdict != .hung else { return }
        (verdict, note, lack) = (.failed, nil, nil)
    }

    /// Why it matters.
    var reason: String { verdict == .crashed ? "It would have ended the program that loaded it. \(rule.reason)" : rule.reason }

    /// How to mend it. A crash may have nothing to do with what the check is about.
    var remedy: String {
        verdict == .crashed ? "What the stack and the last calls show. If that is about this rule: \(rule.remedy)" : rule.remedy
    }
}

/// What ended a check before it came to its end: a plugin that crashes in the first function that is called does so in most.
struct CrashSignature: Hashable, Sendable {
    let words: String
    /// Equal for all checks that one thing ended.
    let key: String

    static func == (a: Self, b: Self) -> Bool { a.key == b.key }
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension CheckResult {
    /// `nil` where the check came to its end.
    var cause: CrashSignature? {
        let place = CallLogEntry.place(after: lastEvents)
        switch verdict {
        case .crashed:
            if let crash, let function = crash.function { return CrashSignature(words: "it crashed in \(function)", key: crash.key) }
            let words = (note ?? "it crashed") + place
            return CrashSignature(words: words, key: "\(words)\n\(crash?.key ?? "")")
        case .hung:
            return place.isEmpty ? nil : CrashSignature(words: "it hung\(place)", key: place)
        case .passed, .failed, .warned, .skipped:
            return nil
        }
    }
}
