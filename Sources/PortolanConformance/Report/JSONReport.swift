// SPDX-License-Identifier: Apache-2.0

package import PortolanJSON

/// Results and rules for programs, as docs/check-results.schema.json has them.
package struct JSONReport: Sendable {
    /// The command that makes one check alone, up to its ID.
    private let command: String

    package init(repeatingBy command: String) {
        self.command = command
    }

    package func value(of summary: Summary, subject: String, library: String?) -> JSONValue {
        let counts = Verdict.allCases.map { JSONValue.Member(name: $0.rawValue, value: .integer(summary.count($0))) }
        return [
            "plugin": .string(subject), "library": .text(library), "success": .bool(summary.isSuccess), "counts": .object(counts),
            "results": .array(summary.results.map(value)),
        ]
    }

    private func value(of result: CheckResult) -> JSONValue {
        [
            "id": .string(result.rule.id), "level": .integer(result.rule.level), "verdict": .string(result.verdict.rawValue),
            "findings": .array(
                result.findings.map { ["weight": .string($0.weight.rawValue), "detail": .string($0.detail)] }),
            "sentence": .string(result.rule.sentence), "reason": .string(result.rule.reason), "remedy": .string(result.rule.remedy),
            "again": .string("\(command) --filter \(result.rule.id)"), "note": .text(result.note), "ms": .milliseconds(result.duration),
            "lastEvents": .array(result.lastEvents.map(JSONValue.string)), "stack": .array(result.stack.map(JSONValue.string)),
        ]
    }

    package static func value(of rule: ConformanceRule) -> JSONValue {
        [
            "id": .string(rule.id), "category": .string(rule.category), "level": .integer(rule.level),
            "force": .string(rule.force.rawValue),
            "enforcedByHost": .bool(rule.isEnforced), "sentence": .string(rule.sentence), "reason": .string(rule.reason),
            "remedy": .string(rule.remedy), "needs": .text(rule.scenario?.rawValue), "awaits": .text(rule.awaits?.rawValue),
        ]
    }
}
