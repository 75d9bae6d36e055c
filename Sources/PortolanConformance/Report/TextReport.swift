// SPDX-License-Identifier: Apache-2.0

/// Results for a person.
public struct TextReport: Sendable {
    /// The command that makes one check alone, up to its ID.
    private let command: String
    /// Whether what passed is told, too.
    private let isVerbose: Bool
    /// The first check that each cause ended: the others are told in a line.
    private var firsts: [Cause: String] = [:]
    /// Whether `--sanitizer` could tell more.
    private let hasSanitizer: Bool

    /// - Parameters:
    ///   - command: what makes one check alone, up to its ID.
    ///   - isVerbose: whether what passed is told, too, and all of each crash.
    ///   - hasSanitizer: whether the plugin has code of its own that memcheck could look at.
    public init(repeatingBy command: String, isVerbose: Bool, hasSanitizer: Bool = false) {
        (self.command, self.isVerbose, self.hasSanitizer) = (command, isVerbose, hasSanitizer)
    }

    /// The lines for one result; none for what needs no word.
    public mutating func lines(for result: CheckResult) -> [String] {
        guard isVerbose || (result.verdict != .passed && result.verdict != .skipped) else { return [] }
        let rule = result.rule
        let head = "\(result.verdict.rawValue.padded(to: 8)) \(rule.id)  "
        if let cause = result.cause {
            if let first = firsts[cause], !isVerbose { return ["\(head)as \(first): \(cause.words)"] }
            firsts[cause] = firsts[cause] ?? rule.id
        }
        var lines = [head + rule.sentence]
        if let note = result.note { lines.append("         \(note)") }
        guard result.verdict != .passed, result.verdict != .skipped else { return lines }
        lines += result.findings.flatMap(self.lines)
        lines += ["         why: \(result.reason)", "         mend: \(result.remedy)"]
        if !result.stack.isEmpty { lines += ["         stack:"] + result.stack.prefix(12).map { "           \($0)" } }
        if result.verdict != .warned, !result.lastEvents.isEmpty {
            lines += ["         last calls:"] + result.lastEvents.suffix(8).map { "           \($0)" }
        }
        if result.makesItself { lines.append("         again: \(result.again(command))") }
        let hasMore = hasSanitizer && result.verdict == .crashed && rule.category != "PERF"
        if hasMore { lines.append("         more: \(result.again(command)) --sanitizer") }
        return lines
    }

    private func lines(for finding: Finding) -> [String] {
        ["         - \(finding.detail)"] + finding.stack.map { "             \($0)" }
            + (finding.seenIn.map { ["           again: \(command) --filter \($0)"] } ?? [])
    }
}
