// SPDX-License-Identifier: Apache-2.0

/// Results for a person.
public struct TextReport: Sendable {
    /// The command that makes one check alone, up to its ID.
    private let command: String
    /// Whether what passed is told, too.
    private let isVerbose: Bool
    /// The first check that each cause ended: the others are told in a line.
    private var firsts: [String: String] = [:]

    public init(repeatingBy command: String, isVerbose: Bool) {
        self.command = command
        self.isVerbose = isVerbose
    }

    /// The lines for one result; none for what needs no word.
    public mutating func lines(for result: CheckResult) -> [String] {
        guard isVerbose || (result.verdict != .passed && result.verdict != .skipped) else { return [] }
        let rule = result.rule
        let head = "\(result.verdict.rawValue.padded(to: 8)) \(rule.id)  "
        if let cause = result.cause {
            if let first = firsts[cause], !isVerbose { return ["\(head)as \(first): \(cause)"] }
            firsts[cause] = firsts[cause] ?? rule.id
        }
        var lines = [head + rule.sentence]
        if let note = result.note { lines.append("         \(note)") }
        guard result.verdict != .passed, result.verdict != .skipped else { return lines }
        lines += result.findings.flatMap(self.lines)
        lines += ["         why: \(rule.reason)", "         mend: \(rule.remedy)"]
        if !result.stack.isEmpty { lines += ["         stack:"] + result.stack.prefix(12).map { "           \($0)" } }
        if result.verdict != .warned, !result.lastEvents.isEmpty {
            lines += ["         last calls:"] + result.lastEvents.suffix(8).map { "           \($0)" }
        }
        if result.makesItself { lines.append("         again: \(result.again(command))") }
        if result.crashedIn != nil { lines.append("         more: \(result.again(command)) --sanitizer") }
        return lines
    }

    private func lines(for finding: Finding) -> [String] {
        ["         - \(finding.detail)"] + finding.stack.map { "             \($0)" }
            + (finding.seenIn.map { ["           again: \(command) --filter \($0)"] } ?? [])
    }
}
