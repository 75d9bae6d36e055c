// SPDX-License-Identifier: Apache-2.0

/// Results as one page that needs nothing else: no network, no script.
public struct HTMLReport: Sendable {
    /// The command that makes one check alone, up to its ID.
    private let command: String

    public init(repeatingBy command: String) {
        self.command = command
    }

    public func page(of summary: Summary, subject: String) -> String {
        let told = summary.results.filter { $0.verdict != .passed && $0.verdict != .skipped }
        var causes: Set<Cause> = []
        let first = told.map { result in result.cause.map { causes.insert($0).inserted } ?? true }
        let rest = summary.results.filter { $0.verdict == .passed || $0.verdict == .skipped }
        let body = """
            <h1>\(Markup.escaped(subject)) <span class="\(summary.isSuccess ? "passed" : "failed")">\(summary.isSuccess ? "passes" : summary.isEmpty ? "was not judged" : "fails")</span></h1>
            <p>\(Markup.escaped(summary.line)).</p>
            \(table(of: summary))
            \(summary.causes.map(paragraph).joined(separator: "\n"))
            \(told.isEmpty ? "" : "<h2>What was found</h2>")
            \(zip(told, first).map { article(of: $0, isOpen: $1) }.joined(separator: "\n"))
            <h2>What passed, and what could not be judged</h2>
            \(rest.map { article(of: $0, isOpen: false) }.joined(separator: "\n"))
            """
        return HTMLPage.text(title: "\(subject): \(summary.line)", body: body)
    }

    private func table(of summary: Summary) -> String {
        let verdicts = Verdict.allCases.filter { summary.count($0) > 0 }
        let head = verdicts.map { "<th>\(Self.words($0))</th>" }.joined()
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
        let count = Words.count(cause.ids.count, "check")
        return "<p>\(count) ended alike: \(Markup.escaped(cause.words)). Mend that first, and check again: \(links).</p>"
    }

    private func article(of result: CheckResult, isOpen: Bool) -> String {
        let rule = result.rule
        var lines = [
            #"<details class="\#(result.verdict.rawValue)" id="\#(rule.id)"\#(isOpen ? " open" : "")>"#,
            "<summary><b>\(Self.words(result.verdict))</b> \(rule.id) <span>\(Markup.escaped(rule.sentence))</span></summary>",
        ]
        if let note = result.note { lines.append("<p>\(Markup.escaped(note))</p>") }
        if !result.findings.isEmpty {
            lines.append("<ul>" + result.findings.map(item).joined() + "</ul>")
        }
        lines.append("<dl><dt>Why</dt><dd>\(Markup.escaped(result.reason))</dd><dt>Mend</dt><dd>\(Markup.escaped(result.remedy))</dd>")
        lines.append("<dt>Again</dt><dd><code>\(Markup.escaped(result.again(command)))</code></dd></dl>")
        if !result.stack.isEmpty { lines.append("<pre>\(Markup.escaped(result.stack.joined(separator: "\n")))</pre>") }
        let timeline = Timeline(result.lastEvents)
        if !timeline.isEmpty {
            lines.append("<figure><figcaption>The last calls across the boundary</figcaption>\n\(timeline.svg)</figure>")
        }
        return (lines + ["</details>"]).joined(separator: "\n")
    }

    private func item(_ finding: Finding) -> String {
        let stack = finding.stack.isEmpty ? "" : "<pre>\(Markup.escaped(finding.stack.joined(separator: "\n")))</pre>"
        let again = finding.seenIn.map { "<p>Again: <code>\(Markup.escaped(command)) --filter \($0)</code></p>" } ?? ""
        return "<li>\(Markup.escaped(finding.detail))\(stack)\(again)</li>"
    }

    private static func words(_ verdict: Verdict) -> String {
        verdict == .skipped ? "not judged" : verdict.rawValue
    }
}
