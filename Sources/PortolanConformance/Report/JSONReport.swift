// SPDX-License-Identifier: Apache-2.0

package import PortolanJSON

/// Results and rules for programs, in the form of docs/check-results.schema.json.
package struct JSONReport: Sendable {
    /// The command that repeats the checks, without `--filter`.
    private let command: String

    package init(repeatingBy command: String) {
        self.command = command
    }

    package func value(of summary: Summary, target: String, library: String?) -> JSONValue {
        let counts = Verdict.allCases.map { JSONValue.Member(name: $0.rawValue, value: .integer(summary.count($0))) }
        return [
            "plugin": .string(target), "library": .text(library), "success": .bool(summary.isSuccess), "counts": .object(counts),
            "results": .array(summary.results.map(value)),
        ]
    }

    private func value(of result: CheckResult) -> JSONValue {
        [
            "id": .string(result.rule.id), "level": .integer(result.rule.level), "verdict": .string(result.verdict.rawValue),
            "findings": .array(result.findings.map(value)),
            "sentence": .string(result.rule.sentence), "reason": .string(result.reason), "remedy": .string(result.remedy),
            "again": .string(result.repeatCommand(command)), "note": .text(result.note), "ms": .milliseconds(result.duration),
            "lastEvents": .array(result.lastEvents.map(JSONValue.string)), "stack": .array(result.stack.map(JSONValue.string)),
            "standardError": .array(result.errorOutput.map(JSONValue.string)),
        ]
    }

    private func value(of finding: Finding) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init(name: "weight", value: .string(finding.weight.rawValue)), .init(name: "detail", value: .string(finding.detail)),
        ]
        if !finding.stack.isEmpty { members.append(.init(name: "stack", value: .array(finding.stack.map(JSONValue.string)))) }
        if let remedy = finding.remedy { members.append(.init(name: "remedy", value: .string(remedy))) }
        if let id = finding.seenIn { members.append(.init(name: "again", value: .string("\(command) --filter \(id)"))) }
        return .object(members)
    }

    package static func value(of rule: ConformanceRule) -> JSONValue {
        [
            "id": .string(rule.id), "category": .string(rule.category), "level": .integer(rule.level),
            "force": .string(rule.force.rawValue),
            "enforcedByHost": .bool(rule.isEnforced), "sentence": .string(rule.sentence), "reason": .string(rule.reason),
            "remedy": .string(rule.remedy), "needs": .text(rule.scenario?.rawValue),
        ]
    }
}
