// SPDX-License-Identifier: Apache-2.0

/// The catalogue as a page of documentation: `docs/conformance.md`.
package enum RulePage {
    package static var markdown: String {
        head + RuleCatalogue.categories.map(section).joined(separator: "\n")
    }

    private static let head = """
        # What a protocol plugin must do

        Each row is a rule of the plugin contract. A plugin that breaks one fails; a rule that says *should* warns. **Level** says what a rule is about:
        1 the plugin loads and describes itself; 2 one load is right; 3 order, cancellation, flow and threads; 4 stress, faults, leaks and fuzzing;
        5 performance. **Host** marks what the host enforces at run time, too: a load that breaks it ends with `protocolViolation` and the rule's ID.
        **Needs** is the tag of a URL in the manifest's `conformance` section without which the rule can't be judged, or what the loader
        does not have yet.

        `portolan check` is a judge of mistakes and of simple cheating, not a sandbox: the plugin's code runs in the process of its check, as the same user.
        What it can still do there is in "check" of the documentation of the command line. A check that was not made because of another rule
        fails where the check of that rule finds it kept.

        This page is generated from `RuleCatalogue` in `Sources/PortolanConformance`; a test keeps it so.


        """

    private static func section(_ category: RuleCategory) -> String {
        let rows = category.rules.map { rule in
            let sentence = rule.force == .should ? "*Should:* \(cell(rule.sentence))" : cell(rule.sentence)
            return
                "| \(rule.id) | \(rule.level) | \(rule.isEnforced ? "yes" : "") | \(need(of: rule)) | \(sentence) | \(cell(rule.reason)) | "
                + "\(cell(rule.remedy)) |\n"
        }
        return """
            ## \(category.id): \(category.title)

            | ID | Level | Host | Needs | Rule | Why | How to mend it |
            | --- | --- | --- | --- | --- | --- | --- |

            """ + rows.joined()
    }

    private static func need(of rule: ConformanceRule) -> String {
        if let ability = rule.awaits { return "later: \(ability.rawValue)" }
        return rule.scenario?.rawValue ?? ""
    }

    /// Escapes each bar, so that it does not end the cell.
    private static func cell(_ text: String) -> String {
        var result = ""
        for character in text {
            if character == "|" { result += "\\" }
            result.append(character)
        }
        return result
    }
}
