// SPDX-License-Identifier: Apache-2.0

/// Results for programs that read TAP, version 14 (https://testanything.org).
public enum TAPReport {
    public static func text(of summary: Summary) -> String {
        var lines = ["TAP version 14", "1..\(summary.results.count)"]
        for (index, result) in summary.results.enumerated() {
            let words = "\(index + 1) - \(escaped("\(result.rule.id) \(result.rule.sentence)"))"
            switch result.verdict {
            case .passed, .warned: lines.append("ok \(words)")
            case .skipped: lines.append("ok \(words) # SKIP \(escaped(result.note ?? ""))")
            case .failed, .crashed, .hung: lines.append("not ok \(words)")
            }
            guard result.verdict != .passed, result.verdict != .skipped else { continue }
            lines += ["  ---", "  verdict: \(result.verdict.rawValue)"]
            if let note = result.note { lines.append("  note: \(quoted(note))") }
            if !result.findings.isEmpty { lines += ["  findings:"] + result.findings.map { "    - \(quoted($0.detail))" } }
            lines += ["  remedy: \(quoted(result.rule.remedy))", "  ..."]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func escaped(_ text: String) -> String {
        String(text.flatMap { $0 == "#" || $0 == "\\" ? ["\\", $0] : [$0] })
    }

    /// A double-quoted scalar of YAML.
    private static func quoted(_ text: String) -> String {
        "\"" + String(text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }) + "\""
    }
}
