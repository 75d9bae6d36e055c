// SPDX-License-Identifier: Apache-2.0

/// Results for programs that read TAP (https://testanything.org).
public struct TAPReport: Sendable {
    /// The command that repeats the checks, without `--filter`.
    private let command: String
    private let version: Int

    /// - Parameters:
    ///   - command: The command that repeats the checks, without `--filter`.
    ///   - version: 14, or 13 for readers that refuse unknown versions. The rest of the output is the same for both.
    public init(repeatingBy command: String, version: Int = 14) {
        (self.command, self.version) = (command, version)
    }

    public func text(of summary: Summary) -> String {
        var lines = ["TAP version \(version)", "1..\(summary.results.count)"]
        for (index, result) in summary.results.enumerated() {
            let phrase = "\(index + 1) - \(Self.escaped("\(result.rule.id) \(result.rule.sentence)"))"
            switch result.verdict {
            case .passed, .warned: lines.append("ok \(phrase)")
            case .skipped: lines.append("ok \(phrase) # SKIP \(Self.escaped(result.note ?? ""))")
            case .failed, .crashed, .hung: lines.append("not ok \(phrase)")
            }
            guard result.verdict != .passed, result.verdict != .skipped else { continue }
            lines += ["  ---", "  verdict: \(result.verdict.rawValue)"]
            if let note = result.note { lines.append("  note: \(Self.quoted(note))") }
            if !result.findings.isEmpty { lines += ["  findings:"] + result.findings.map(finding) }
            lines += [
                "  remedy: \(Self.quoted(result.remedy))", "  again: \(Self.quoted(result.repeatCommand(command)))", "  ...",
            ]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func finding(_ finding: Finding) -> String {
        "    - " + Self.quoted(finding.lines(command).joined(separator: "\n"))
    }

    /// A description on one line, with a backslash before `#` and before each backslash (TAP 14, "Escaping").
    private static func escaped(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in VisibleText.line(text).unicodeScalars {
            if scalar == "#" || scalar == "\\" { result.append("\\") }
            result.append(scalar)
        }
        return String(result)
    }

    /// A double-quoted scalar of YAML 1.2 (section 5.7), on one line. A colon before a space is `\x3a`, because Perl's
    /// reader takes a colon in a list item for the end of a key.
    private static func quoted(_ text: String) -> String {
        var result = "\""
        let scalars = Array(text.unicodeScalars)
        for (index, scalar) in scalars.enumerated() {
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case "\n": result += "\\n"
            case ":" where index + 1 < scalars.count && scalars[index + 1] == " ": result += "\\x3a"
            case _ where VisibleText.needsEscape(scalar): result += escape(scalar)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        let (letter, width) = scalar.value < 0x100 ? ("x", 2) : scalar.value < 0x10000 ? ("u", 4) : ("U", 8)
        return "\\\(letter)\(String(repeating: "0", count: width - digits.count))\(digits)"
    }
}
