// SPDX-License-Identifier: Apache-2.0

/// Results for a person.
public struct TextReport: Sendable {
    /// The command that makes one check alone, up to its ID.
    private let command: String
    /// Whether what passed is told, too.
    private let isVerbose: Bool

    public init(repeatingBy command: String, isVerbose: Bool) {
        (self.command, self.isVerbose) = (command, isVerbose)
    }

    /// The lines for one result; none for what needs no word.
    public func lines(for result: CheckResult) -> [String] {
        guard isVerbose || (result.verdict != .passed && result.verdict != .skipped) else { return [] }
        let rule = result.rule
        var lines = ["\(result.verdict.rawValue.padded(to: 8)) \(rule.id)  \(rule.sentence)"]
        if let note = result.note { lines.append("         \(note)") }
        guard result.verdict != .passed, result.verdict != .skipped else { return lines }
        lines += result.findings.flatMap(self.lines)
        lines += ["         why: \(rule.reason)", "         mend: \(rule.remedy)"]
        if !result.stack.isEmpty { lines += ["         stack:"] + result.stack.prefix(12).map { "           \($0)" } }
        if result.verdict != .warned, !result.lastEvents.isEmpty {
            lines += ["         last calls:"] + result.lastEvents.suffix(8).map { "           \($0)" }
        }
        if result.makesItself { lines.append("         again: \(result.again(command))") }
        return lines
    }

    private func lines(for finding: Finding) -> [String] {
        ["         - \(finding.detail)"] + finding.stack.map { "             \($0)" }
            + (finding.seenIn.map { ["           again: \(command) --filter \($0)"] } ?? [])
    }
}
