// SPDX-License-Identifier: Apache-2.0

import PortolanJSON

/// A result on its way from the process that made the check.
extension CheckResult {
    /// One line of JSON.
    var childBytes: [UInt8] {
        let findings = findings.map { JSONValue.array([.string($0.weight.rawValue), .string($0.detail)]) }
        let value: JSONValue = [
            "verdict": .string(verdict.rawValue), "note": .text(note), "findings": .array(findings), "hasLeftOpen": .bool(hasLeftOpen),
            "lastEvents": .array(lastEvents.map(JSONValue.string)),
        ]
        return value.bytes + [0x0A]
    }

    /// `nil` where the child did not come to write one whole.
    init?(childBytes bytes: [UInt8], _ rule: ConformanceRule) {
        guard let end = bytes.firstIndex(of: 0x0A), let value = try? JSONParser.parse(Array(bytes[..<end])),  // because half a line is none
            case .string(let word)? = value["verdict"], let verdict = Verdict(rawValue: word), case .array(let list)? = value["findings"]
        else { return nil }
        let findings = list.compactMap { element -> Finding? in
            guard case .array(let parts) = element, parts.count == 2, case .string(let weight) = parts[0],
                case .string(let detail) = parts[1]
            else { return nil }
            return Finding.Weight(rawValue: weight).map { Finding($0, detail) }
        }
        var note: String?
        if case .string(let text)? = value["note"] { note = text }
        self.init(rule, verdict, findings: findings, note: note)
        if case .array(let lines)? = value["lastEvents"] {
            lastEvents = lines.compactMap { if case .string(let line) = $0 { line } else { nil } }
        }
        hasLeftOpen = value["hasLeftOpen"] == .bool(true)
    }

    /// Tells where it crashed in names, as far as there are some.
    ///
    /// - Parameter library: the plugin's.
    mutating func nameCrash(by names: inout StackNames, library: String?) {
        crash = crashStack?.told(by: &names, library: library)
        stack = crash?.lines ?? []
    }
}
