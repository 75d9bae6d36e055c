// SPDX-License-Identifier: Apache-2.0

import PortolanHTML

/// The results as one self-contained page without network requests or scripts: first the findings, then the results by
/// category, then every check, then the text of each rule.
public struct HTMLReport: Sendable {
    /// The command that repeats the checks, without `--filter`.
    private let command: String
    private let note: String?

    /// - Parameters:
    ///   - command: The command that repeats the checks, without `--filter`.
    ///   - note: A sentence for the head of the page, for example about checks that were not run; `nil` for none.
    public init(repeatingBy command: String, note: String? = nil) {
        (self.command, self.note) = (command, note)
    }

    public func page(of summary: Summary, target: String) -> String {
        let word = summary.isSuccess ? "passes" : summary.isSkippedEntirely ? "was not checked" : "fails"
        let findings = findings(of: summary)
        let body = """
            <header>
            <h1>\(HTMLEscaping.escaped(target)) <span class="badge \(summary.isSuccess ? "passed" : "failed")">\(word)</span></h1>
            <p>\(HTMLEscaping.escaped(summary.line)).\(note.map { " \(HTMLEscaping.escaped($0))." } ?? "")</p>
            <nav aria-label="Sections">\(findings.isEmpty ? "" : ##"<a href="#findings">Findings</a> "##)<a href="#categories">Results by category</a> <a href="#checks">Passed and skipped checks</a> <a href="#rules">Rules</a></nav>
            </header>
            <main>
            \(findings)
            \(categories(of: summary))
            \(otherChecks(of: summary))
            \(rules(of: summary))
            </main>
            """
        return HTMLPage.text(title: "\(target): \(summary.line)", style: Self.style, body: body)
    }

    // MARK: Findings

    private func findings(of summary: Summary) -> String {
        let notable = summary.results.filter { $0.verdict != .passed && $0.verdict != .skipped }
        guard !notable.isEmpty else { return "" }
        var causes: Set<CrashSignature> = []
        // Of several checks that ended in the same way, only the first is open.
        let articles = notable.map { result in
            article(of: result, isOpen: result.cause.map { causes.insert($0).inserted } ?? true)
        }
        return section("findings", "Findings", summary.causes.map(paragraph) + articles)
    }

    private func paragraph(of cause: (phrase: String, ids: [String])) -> String {
        let links = cause.ids.map { ##"<a href="#\##($0)">\##($0)</a>"## }.joined(separator: ", ")
        let count = ValueFormatting.count(cause.ids.count, "check")
        return "<p>\(count) ended in the same way: \(HTMLEscaping.escaped(cause.phrase)). Fix that first, then check again: \(links).</p>"
    }

    private func article(of result: CheckResult, isOpen: Bool) -> String {
        let rule = result.rule
        var lines = [
            #"<details class="\#(result.verdict.rawValue)" id="\#(rule.id)"\#(isOpen ? " open" : "")>"#,
            #"<summary><b class="verdict">\#(result.verdict.rawValue)</b> <b>\#(rule.id)</b> \#(HTMLEscaping.escaped(rule.sentence))</summary>"#,
        ]
        if let note = result.note { lines.append("<p>\(HTMLEscaping.escaped(note))</p>") }
        if !result.findings.isEmpty { lines.append("<ul>" + result.findings.map(item).joined() + "</ul>") }
        let title = RuleCatalogue.categories.first { $0.id == rule.category }?.title ?? rule.category
        lines.append(
            """
            <dl>
            <dt>Why it matters</dt><dd>\(HTMLEscaping.escaped(result.reason))</dd>
            <dt>How to fix it</dt><dd>\(HTMLEscaping.escaped(result.remedy))</dd>
            <dt>Check again</dt><dd><code>\(HTMLEscaping.escaped(result.repeatCommand(command)))</code></dd>
            <dt>Rule</dt><dd><a href="#rule-\(rule.id)">\(rule.id)</a>, \(HTMLEscaping.escaped(title))</dd>
            </dl>
            """)
        if !result.stack.isEmpty {
            lines.append("<h3>Stack, innermost first</h3><pre>\(HTMLEscaping.escaped(result.stack.joined(separator: "\n")))</pre>")
        }
        if !result.errorOutput.isEmpty {
            lines.append("<h3>Standard error</h3><pre>\(HTMLEscaping.escaped(result.errorOutput.joined(separator: "\n")))</pre>")
        }
        let timeline = Timeline(result.lastEvents)
        if !timeline.isEmpty { lines.append(timeline.figure) }
        return (lines + ["</details>"]).joined(separator: "\n")
    }

    private func item(_ finding: Finding) -> String {
        let stack = finding.stack.isEmpty ? "" : "<pre>\(HTMLEscaping.escaped(finding.stack.joined(separator: "\n")))</pre>"
        let again = finding.seenIn.map { "<p>Check again: <code>\(HTMLEscaping.escaped(command)) --filter \($0)</code></p>" } ?? ""
        return "<li>\(HTMLEscaping.escaped(finding.detail))\(stack)\(again)</li>"
    }

    // MARK: Tables

    private func categories(of summary: Summary) -> String {
        let verdicts = Verdict.allCases.filter { summary.count($0) > 0 }
        let head = verdicts.map { #"<th scope="col" class="number">\#($0.rawValue)</th>"# }.joined()
        let rows = RuleCatalogue.categories.compactMap { category -> String? in
            let categoryResults = summary.results.filter { $0.rule.category == category.id }
            guard !categoryResults.isEmpty else { return nil }
            let cells = verdicts.map { verdict -> String in
                let count = categoryResults.count { $0.verdict == verdict }
                return #"<td class="number \#(count == 0 ? "" : verdict.rawValue)">\#(count == 0 ? "" : "\(count)")</td>"#
            }
            return
                ##"<tr><th scope="row"><a href="#rules-\##(category.id)">\##(HTMLEscaping.escaped(category.title))</a></th><td>\##(category.id)</td>\##(cells.joined())</tr>"##
        }
        let legend = verdicts.map { #"<li><b class="\#($0.rawValue)">\#($0.rawValue)</b>: \#($0.meaning)</li>"# }.joined()
        return section(
            "categories", "Results by category",
            [
                #"<ul class="legend">\#(legend)</ul>"#,
                #"<div class="scroll"><table><thead><tr><th scope="col">Category</th><th scope="col">Rules</th>\#(head)</tr></thead><tbody>"#,
                rows.joined(separator: "\n"), "</tbody></table></div>",
            ])
    }

    private func otherChecks(of summary: Summary) -> String {
        let otherResults = summary.results.filter { $0.verdict == .passed || $0.verdict == .skipped }
        guard !otherResults.isEmpty else { return section("checks", "Passed and skipped checks", ["<p>There are none.</p>"]) }
        let rows = otherResults.map { result in
            let note = result.note.map { #"<br><span class="note">\#(HTMLEscaping.escaped($0))</span>"# } ?? ""
            return
                ##"<tr><td class="\##(result.verdict.rawValue)">\##(result.verdict.rawValue)</td><td><a href="#rule-\##(result.rule.id)">\##(result.rule.id)</a></td><td>\##(HTMLEscaping.escaped(result.rule.sentence))\##(note)</td></tr>"##
        }
        return section(
            "checks", "Passed and skipped checks",
            [
                #"<table><thead><tr><th scope="col">Result</th><th scope="col">Rule</th><th scope="col">What the rule requires</th></tr></thead><tbody>"#,
                rows.joined(separator: "\n"), "</tbody></table>",
            ])
    }

    private func rules(of summary: Summary) -> String {
        let ids = Set(summary.results.map(\.rule.id))
        let parts = RuleCatalogue.categories.compactMap { category -> String? in
            let rules = category.rules.filter { ids.contains($0.id) }
            guard !rules.isEmpty else { return nil }
            return #"<h3 id="rules-\#(category.id)">\#(HTMLEscaping.escaped(category.title)) (\#(category.id))</h3>"# + "\n"
                + rules.map(text).joined(separator: "\n")
        }
        return section("rules", "Rules", parts)
    }

    private func text(of rule: ConformanceRule) -> String {
        let force = rule.force == .must ? "Required" : "Recommended"
        return """
            <details class="rule" id="rule-\(rule.id)">
            <summary><b>\(rule.id)</b> \(HTMLEscaping.escaped(rule.sentence))</summary>
            <dl>
            <dt>Why it matters</dt><dd>\(HTMLEscaping.escaped(rule.reason))</dd>
            <dt>How to fix it</dt><dd>\(HTMLEscaping.escaped(rule.remedy))</dd>
            <dt>Kind</dt><dd>\(force); level \(rule.level)\(rule.isEnforced ? "; the host enforces it at run time, too" : "")</dd>
            </dl>
            </details>
            """
    }

    private func section(_ id: String, _ title: String, _ parts: [String]) -> String {
        #"<section aria-labelledby="\#(id)"><h2 id="\#(id)">\#(title)</h2>"# + "\n" + parts.joined(separator: "\n") + "\n</section>"
    }

    private static let style = """
        td.passed, b.passed { color: var(--good); } td.warned, b.warned { color: var(--odd); } td.skipped, b.skipped { color: var(--dim); }
        td.failed, td.crashed, td.hung, b.failed, b.crashed, b.hung { color: var(--bad); font-weight: 600; }
        details { border-left-color: var(--dim); } details.warned { border-left-color: var(--odd); }
        details.failed, details.crashed, details.hung { border-left-color: var(--bad); }
        details.rule { border-left-width: 1px; } details:target { outline: 2px solid var(--link); }
        summary .verdict { display: inline-block; min-width: 4.5rem; text-transform: uppercase; font-size: .8rem; letter-spacing: .03em; }
        .failed > summary .verdict, .crashed > summary .verdict, .hung > summary .verdict { color: var(--bad); }
        .warned > summary .verdict { color: var(--odd); } #findings ~ details ul { padding-left: 1.2rem; }
        \(Timeline.style)
        """
}

extension Verdict {
    /// One line for the legend of a report.
    fileprivate var meaning: String {
        switch self {
        case .passed: "the plugin keeps the rule"
        case .failed: "the plugin violates a required rule"
        case .warned: "the plugin violates a recommended rule"
        case .skipped: "the check was not made; its line says why"
        case .crashed: "the process of the check crashed"
        case .hung: "the check did not end in time"
        }
    }
}
