// SPDX-License-Identifier: Apache-2.0

/// The results as one self-contained page without network requests or scripts.
public struct HTMLReport: Sendable {
    /// The command that runs one check, up to its ID.
    private let command: String

    public init(repeatingBy command: String) {
        self.command = command
    }

    public func page(of summary: Summary, target: String) -> String {
        let notable = summary.results.filter { $0.verdict != .passed && $0.verdict != .skipped }
        var causes: Set<CrashSignature> = []
        let first = notable.map { result in result.cause.map { causes.insert($0).inserted } ?? true }
        let rest = summary.results.filter { $0.verdict == .passed || $0.verdict == .skipped }
        let body = """
            <h1>\(HTMLEscaping.escaped(target)) <span class="\(summary.isSuccess ? "passed" : "failed")">\(summary.isSuccess ? "passes" : summary.isEmpty ? "was not checked" : "fails")</span></h1>
            <p>\(HTMLEscaping.escaped(summary.line)).</p>
            \(table(of: summary))
            \(summary.causes.map(paragraph).joined(separator: "\n"))
            \(notable.isEmpty ? "" : "<h2>Findings</h2>")
            \(zip(notable, first).map { article(of: $0, isOpen: $1) }.joined(separator: "\n"))
            <h2>Passed and skipped checks</h2>
            \(rest.map { article(of: $0, isOpen: false) }.joined(separator: "\n"))
            """
        return HTMLPage.text(title: "\(target): \(summary.line)", body: body)
    }

    private func table(of summary: Summary) -> String {
        let verdicts = Verdict.allCases.filter { summary.count($0) > 0 }
        let head = verdicts.map { "<th>\($0.rawValue)</th>" }.joined()
        let rows = RuleCatalogue.categories.compactMap { category -> String? in
            let own = summary.results.filter { $0.rule.category == category.id }
            guard !own.isEmpty else { return nil }
            let cells = verdicts.map { verdict -> String in
                let count = own.count { $0.verdict == verdict }
                return count == 0 ? "<td></td>" : #"<td class="\#(verdict.rawValue)">\#(count)</td>"#
            }
            return "<tr><th>\(category.id)</th>\(cells.joined())</tr>"
        }
        return "<table><thead><tr><th></th>\(head)</tr></thead><tbody>\n\(rows.joined(separator: "\n"))\n</tbody></table>"
    }

    private func paragraph(of cause: (words: String, ids: [String])) -> String {
        let links = cause.ids.map { ##"<a href="#\##($0)">\##($0)</a>"## }.joined(separator: ", ")
        let count = ValueFormatting.count(cause.ids.count, "check")
        return "<p>\(count) ended in the same way: \(HTMLEscaping.escaped(cause.words)). Fix that first, then check again: \(links).</p>"
    }

    private func article(of result: CheckResult, isOpen: Bool) -> String {
        let rule = result.rule
        var lines = [
            #"<details class="\#(result.verdict.rawValue)" id="\#(rule.id)"\#(isOpen ? " open" : "")>"#,
            "<summary><b>\(result.verdict.rawValue)</b> \(rule.id) <span>\(HTMLEscaping.escaped(rule.sentence))</span></summary>",
        ]
        if let note = result.note { lines.append("<p>\(HTMLEscaping.escaped(note))</p>") }
        if !result.findings.isEmpty {
            lines.append("<ul>" + result.findings.map(item).joined() + "</ul>")
        }
        lines.append(
            "<dl><dt>Why</dt><dd>\(HTMLEscaping.escaped(result.reason))</dd><dt>Fix</dt><dd>\(HTMLEscaping.escaped(result.remedy))</dd>")
        lines.append("<dt>Again</dt><dd><code>\(HTMLEscaping.escaped(result.again(command)))</code></dd></dl>")
        if !result.stack.isEmpty { lines.append("<pre>\(HTMLEscaping.escaped(result.stack.joined(separator: "\n")))</pre>") }
        let timeline = Timeline(result.lastEvents)
        if !timeline.isEmpty {
            lines.append("<figure><figcaption>The last calls between the runner and the plugin</figcaption>\n\(timeline.svg)</figure>")
        }
        return (lines + ["</details>"]).joined(separator: "\n")
    }

    private func item(_ finding: Finding) -> String {
        let stack = finding.stack.isEmpty ? "" : "<pre>\(HTMLEscaping.escaped(finding.stack.joined(separator: "\n")))</pre>"
        let again = finding.seenIn.map { "<p>Again: <code>\(HTMLEscaping.escaped(command)) --filter \($0)</code></p>" } ?? ""
        return "<li>\(HTMLEscaping.escaped(finding.detail))\(stack)\(again)</li>"
    }
}
