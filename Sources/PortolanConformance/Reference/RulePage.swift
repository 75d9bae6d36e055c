// SPDX-License-Identifier: Apache-2.0

/// The catalogue as a page of documentation: `docs/conformance.md`.
package enum RulePage {
    package static var markdown: String {
        head + RuleCatalogue.categories.map(section).joined(separator: "\n")
    }

    private static let head = """
        # What a protocol plugin must do

        Each row is a rule of the plugin contract. A plugin that violates a rule fails the check of that rule. For a rule with *Should*, the check
        only warns.

        - **Level**: 1 the plugin loads and describes itself; 2 one load is correct; 3 order, cancellation, flow and threads; 4 stress, faults, leaks
          and fuzzing; 5 performance.
        - **Host**: the host also enforces the rule at run time. A load that violates it ends with `protocolViolation` and the rule's ID.
        - **Needs**: the tag of a URL that the check needs in the manifest's `conformance` section, or a feature that the loader does not have yet.

        `portolan check` finds mistakes and simple cheating. It is not a sandbox: the plugin's code runs in the process of its check, as the same
        user. The documentation of the command line, in "check", describes what the code can still do there. A check that was skipped because another
        rule is violated fails if the check of that rule finds no violation.

        This page is generated from `RuleCatalogue` in `Sources/PortolanConformance`. A test compares it with the catalogue.


        """

    private static func section(_ category: RuleCategory) -> String {
        let rows = category.rules.map { rule in
            let sentence = rule.force == .should ? "*Should:* \(cell(rule.sentence))" : cell(rule.sentence)
            return
                "| \(rule.id) | \(rule.level) | \(rule.isEnforced ? "yes" : "") | \(rule.scenario?.rawValue ?? "") | \(sentence) | \(cell(rule.reason)) | "
                + "\(cell(rule.remedy)) |\n"
        }
        return """
            ## \(category.id): \(category.title)

            | ID | Level | Host | Needs | Rule | Why | How to fix it |
            | --- | --- | --- | --- | --- | --- | --- |

            """ + rows.joined()
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
