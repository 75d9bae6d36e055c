// SPDX-License-Identifier: Apache-2.0

import PortolanConformance
import PortolanJSON

/// The output of `portolan check --explain`.
enum RuleExplanation {
    static func write(_ rules: [ConformanceRule], asJSON: Bool) throws {
        if asJSON {
            try StandardOutput.write(["checks": .array(rules.map { JSONReport.value(of: $0) })])
        } else {
            try StandardOutput.write(rules.map { lines(of: $0).map { "\($0)\n" }.joined() }.joined(separator: "\n"))
        }
    }

    static func lines(of rule: ConformanceRule) -> [String] {
        let kind =
            (rule.force == .must ? "required" : "recommended") + ", level \(rule.level)"
            + (rule.isEnforced ? "; the host also enforces it" : "")
        var rows = [("why", rule.reason), ("fix", rule.remedy), ("kind", kind)]
        if let need = rule.scenario?.need { rows.append(("needs", need)) }
        rows += rule.headerPlaces.enumerated().map { ($0 == 0 ? "headers" : "", $1) }
        if rule.category == "MEM" {
            rows.append(("check", "portolan check PLUGIN --sanitizer"))
        } else if ConformanceCheck.named(rule.id) == nil {
            rows.append(("check", "none" + (rule.isEnforced ? "; the host enforces it" : "")))
        } else {
            rows.append(("check", "portolan check PLUGIN --filter \(rule.id)"))
        }
        return ["\(rule.id)  \(rule.sentence)"]
            + rows.map { name, text in "  \(name.isEmpty ? "         " : "\(name): ".padding(to: 9))\(text)" }
    }
}

extension ConformanceRule.Scenario {
    /// What the plugin's manifest must contain, so that the rule can be checked.
    fileprivate var need: String {
        switch self {
        case .any: "a URL in the manifest's conformance section"
        case .succeeds: "a URL that succeeds, in the manifest's conformance section"
        case .fails: "a URL with an error, in the manifest's conformance section"
        case .empty: "a URL with the length 0, in the manifest's conformance section"
        case .storable: "a URL whose response can be stored, in the manifest's conformance section"
        case .setting: "a setting that the manifest declares"
        case .large, .redirects, .challenges, .cancelsChallenge, .uploads, .nested, .hangs:
            "a URL with the tag \(rawValue), in the manifest's conformance section"
        }
    }
}

extension String {
    fileprivate func padding(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
