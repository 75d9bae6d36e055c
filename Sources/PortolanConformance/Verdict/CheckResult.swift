// SPDX-License-Identifier: Apache-2.0

import PortolanPlugins

/// The result of one check of one plugin.
public struct CheckResult: Hashable, Sendable {
    public let rule: ConformanceRule
    public internal(set) var verdict: Verdict
    public internal(set) var findings: [Finding]
    /// Why the check was skipped, or how it ended; one line.
    public internal(set) var note: String?
    /// The last calls between runner and plugin, oldest first: before the first finding of a failed check, or before a
    /// crash or a hang.
    public internal(set) var lastEvents: [String]
    /// The stack of a crash, innermost first, as far as it is known.
    public internal(set) var stack: [String]
    /// The last lines that the plugin wrote to standard error before a crash or a hang, at most eight.
    public internal(set) var errorOutput: [String]
    public internal(set) var duration: Duration
    /// The loads of the target that did not end although the client did nothing unusual.
    var hungLoads = HungLoads()
    /// Whether an instance or a load remains that the runner did not end. Memory that it holds is not a leak.
    var hasLeftOpen = false
    /// When the runner itself lacked a system resource; `nil` unless the check was skipped or crashed for that reason.
    var shortage: ResourceShortage?
    /// The stack of a crash as addresses; `nil` if the process did not crash, or could not report its stack.
    var crashStack: CrashStack?
    /// ``crashStack`` with the names of functions; `nil` before ``nameCrash(by:library:)``.
    var crash: CrashStack.NamedStack?
    /// The memcheck log of the process that ran the check; `nil` if it did not run under Valgrind.
    var memory: MemcheckLog?

    init(_ rule: ConformanceRule, _ verdict: Verdict, findings: [Finding] = [], note: String? = nil) {
        self.rule = rule
        self.verdict = verdict
        self.findings = findings
        self.note = note
        (lastEvents, stack, errorOutput, duration) = ([], [], [], .zero)
    }
}

/// When the system refused memory, a process, a thread or a file to the runner.
enum ResourceShortage: UInt8, Hashable, Sendable {
    /// Before any code of the plugin had run in the process.
    case fromTheStart = 1
    /// After code of the plugin had run.
    case later
}

extension CheckResult {
    /// Adds a finding that fails the plugin. A check that crashed or hung keeps its verdict.
    mutating func fail(_ detail: String) {
        findings.append(Finding(.failure, Text.oneLine(detail, limit: 1000)))
        guard verdict != .crashed, verdict != .hung else { return }
        (verdict, note, shortage) = (.failed, nil, nil)
    }

    /// Why the result matters. A crash can be unrelated to the rule of the check.
    var reason: String { verdict == .crashed ? "The plugin would have ended the program that loaded it." : rule.reason }

    /// How to repair the plugin: the remedies of the findings, and the rule's for findings without one.
    var remedy: String {
        if verdict == .crashed { return "Fix what the stack and the last calls show. If the crash concerns this rule: \(rule.remedy)" }
        var remedies: [String] = []
        for remedy in findings.map({ $0.remedy ?? rule.remedy }) where !remedies.contains(remedy) { remedies.append(remedy) }
        return remedies.isEmpty ? rule.remedy : remedies.joined(separator: " ")
    }
}

/// The cause of a check's early end. Many checks can have the same cause: a plugin that crashes in its first function
/// ends most checks there.
struct CrashSignature: Hashable, Sendable {
    let phrase: String
    /// Equal for all checks that ended for the same cause.
    let key: String

    static func == (a: Self, b: Self) -> Bool { a.key == b.key }
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

extension CheckResult {
    /// `nil` if the check ran to its end, or hung before any recorded call.
    var cause: CrashSignature? {
        let place = CallLogEntry.place(after: lastEvents)
        switch verdict {
        case .crashed:
            if let crash, let function = crash.function { return CrashSignature(phrase: "it crashed in \(function)", key: crash.key) }
            let phrase = (note ?? "it crashed") + place
            return CrashSignature(phrase: phrase, key: "\(phrase)\n\(crash?.key ?? "")")
        case .hung:
            return place.isEmpty ? nil : CrashSignature(phrase: "it hung\(place)", key: place)
        case .passed, .failed, .warned, .skipped:
            return nil
        }
    }
}

extension CheckResult {
    /// The error that every finding of a failed check quotes; `nil` if they quote different ones or none. Checks that
    /// fail with the same error have the same cause.
    var sharedError: String? {
        guard verdict == .failed, let error = findings.first?.quotedError, findings.allSatisfy({ $0.quotedError == error }) else {
            return nil
        }
        return error
    }
}
