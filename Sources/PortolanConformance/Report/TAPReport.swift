// SPDX-License-Identifier: Apache-2.0

/// Results for programs that read TAP (https://testanything.org).
public struct TAPReport: Sendable {
    /// The command that makes one check alone, up to its ID.
    private let command: String
    private let version: Int

    /// - Parameters:
    ///   - command: what makes one check alone, up to its ID.
    ///   - version: 14, or 13 for readers that refuse a version that they don't know. What is written is the same in both.
    public init(repeatingBy command: String, version: Int = 14) {
        (self.command, self.version) = (command, version)
    }

    public func text(of summary: Summary) -> String {
        var lines = ["TAP version \(version)", "1..\(summary.results.count)"]
        for (index, result) in summary.results.enumerated() {
            let words = "\(index + 1) - \(Self.escaped("\(result.rule.id) \(result.rule.sentence)"))"
            switch result.verdict {
            case .passed, .warned: lines.append("ok \(words)")
            case .skipped: lines.append("ok \(words) # SKIP \(Self.escaped(result.note ?? ""))")
            case .failed, .crashed, .hung: lines.append("not ok \(words)")
            }
            guard result.verdict != .passed, result.verdict != .skipped else { continue }
            lines += ["  ---", "  verdict: \(result.verdict.rawValue)"]
            if let note = result.note { lines.append("  note: \(Self.quoted(note))") }
            if !result.findings.isEmpty { lines += ["  findings:"] + result.findings.map(finding) }
            lines += [
                "  remedy: \(Self.quoted(result.remedy))", "  again: \(Self.quoted(result.again(command)))", "  ...",
            ]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A quoted line of YAML; the breaks in it are `\n`, and the colon before a space is `\x3a`: Perl's reader takes that of an item for the end of a key.
    private func finding(_ finding: Finding) -> String {
        "    - "
            + Self.quoted(finding.lines(command).joined(separator: "\n")).replacing("\n", with: "\\n").replacing(": ", with: "\\x3a ")
    }

    private static func escaped(_ text: String) -> String {
        String(text.flatMap { $0 == "#" || $0 == "\\" ? ["\\", $0] : [$0] })
    }

    /// A double-quoted scalar of YAML.
    private static func quoted(_ text: String) -> String {
        "\"" + String(text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }) + "\""
    }
}
