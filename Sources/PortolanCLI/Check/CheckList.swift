// SPDX-License-Identifier: Apache-2.0

import PortolanConformance
import PortolanJSON

/// The output of `portolan check --list`.
enum CheckList {
    static func write(_ checks: [ConformanceCheck], asJSON: Bool) throws {
        if asJSON {
            try StandardOutput.write(["checks": .array(checks.map { JSONReport.value(of: $0.rule) })])
        } else {
            let lines = checks.map { check in
                let id = check.id + String(repeating: " ", count: max(0, 10 - check.id.count))
                return "\(id) \(check.rule.level)  \(check.rule.sentence)\n"
            }
            try StandardOutput.write(lines.joined() + "\(checks.count) checks, of \(RuleCatalogue.rules.count) rules\n")
        }
    }
}
