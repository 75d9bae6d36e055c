// SPDX-License-Identifier: Apache-2.0

/// Results for people.
public struct TextReport: Sendable {
    /// The command that repeats the checks, without `--filter`.
    private let command: String
    /// Whether checks that passed or were skipped are listed, too.
    private let isVerbose: Bool
    /// The causes that ended earlier checks. Further checks with the same cause have no lines; the summary names them.
    private var reportedCauses: Set<CrashSignature> = []
    /// For each error that failed earlier checks: the ID of the first of them.
    private var reportedErrors: [String: String] = [:]
    /// Whether `--sanitizer` could find more.
    private let hasSanitizer: Bool

    /// - Parameters:
    ///   - command: The command that repeats the checks, without `--filter`.
    ///   - isVerbose: Whether checks that passed or were skipped are listed, too, and every crash in full.
    ///   - hasSanitizer: Whether the plugin has its own code, which memcheck could observe.
    public init(repeatingBy command: String, isVerbose: Bool, hasSanitizer: Bool = false) {
        (self.command, self.isVerbose, self.hasSanitizer) = (command, isVerbose, hasSanitizer)
    }

    /// The lines for one result; empty if it needs none.
    public mutating func lines(for result: CheckResult) -> [String] {
        guard isVerbose || (result.verdict != .passed && result.verdict != .skipped) else { return [] }
        let rule = result.rule
        let head = "\(result.verdict.rawValue.padded(to: 8)) \(rule.id)  "
        if let cause = result.cause, !reportedCauses.insert(cause).inserted, !isVerbose { return [] }
        if let error = result.sharedError, !isVerbose {
            if let first = reportedErrors[error] {
                return [head + rule.sentence] + result.findings.flatMap(self.lines) + ["         the same error as in \(first)"]
            }
            reportedErrors[error] = rule.id
        }
        // A crash or a hang need not violate the rule of the check.
        var lines = result.cause.map { [head + $0.phrase, "         during the check: \(rule.sentence)"] } ?? [head + rule.sentence]
        if let note = result.note { lines.append("         \(note)") }
        guard result.verdict != .passed, result.verdict != .skipped else { return lines }
        lines += result.findings.flatMap(self.lines)
        lines += ["         why: \(result.reason)", "         fix: \(result.remedy)"]
        if !result.stack.isEmpty { lines += ["         stack:"] + result.stack.map { "           \($0)" } }
        if !result.errorOutput.isEmpty { lines += ["         standard error:"] + result.errorOutput.map { "           \($0)" } }
        if result.verdict != .warned, !result.lastEvents.isEmpty {
            lines += ["         last calls:"] + result.lastEvents.suffix(8).map { "           \($0)" }
        }
        if result.hasOwnCheck { lines.append("         again: \(result.repeatCommand(command))") }
        let hasMore = hasSanitizer && result.verdict == .crashed && rule.category != "PERF"
        if hasMore { lines.append("         more: \(result.repeatCommand(command)) --sanitizer") }
        return lines
    }

    private func lines(for finding: Finding) -> [String] {
        ["         - \(finding.detail)"] + finding.stack.map { "             \($0)" }
            + (finding.seenIn.map { ["           again: \(command) --filter \($0)"] } ?? [])
    }
}
