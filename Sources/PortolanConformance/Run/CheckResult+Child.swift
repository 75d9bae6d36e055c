// SPDX-License-Identifier: Apache-2.0

/// The bytes in which the check's process passes its result to the runner. They contain no verdict: the runner derives
/// the verdict from the findings.
///
/// Texts are stored with their lengths, the number of findings is stored twice, and missing or surplus bytes are
/// errors. So the plugin cannot produce another result by changing texts in the process.
extension CheckResult {
    private static let (failureMark, warningMark, noNote): (UInt8, UInt8, UInt8) = (0xA6, 0x59, 0x3C)
    private static let (noteMark, start, end): (UInt8, UInt8, UInt8) = (0xC3, 0x95, 0x6A)

    var childBytes: [UInt8] {
        var bytes = [Self.start, hasLeftOpen ? 1 : 0, shortage?.rawValue ?? 0, note == nil ? Self.noNote : Self.noteMark]
        func add(_ number: Int) { for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) } }
        func add(_ text: String) {
            add(text.utf8.count)
            bytes += text.utf8
        }
        if let note { add(note) }
        bytes += hungLoads.bytes
        add(findings.count)
        for finding in findings {
            bytes.append(finding.weight == .failure ? Self.failureMark : Self.warningMark)
            add(finding.detail)
            add(finding.remedy ?? "")
        }
        add(lastEvents.count)
        for line in lastEvents { add(line) }
        add(findings.count { $0.weight == .failure })
        add(findings.count { $0.weight == .warning })
        return bytes + [Self.end]
    }

    /// Reads a result; `nil` if the child did not write it completely, or if it contradicts itself.
    init?(childBytes bytes: [UInt8], _ rule: ConformanceRule) {
        var rest = bytes[...]
        func number() -> Int? {
            guard rest.count >= 4 else { return nil }
            defer { rest = rest.dropFirst(4) }
            return rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        func text() -> String? {
            guard let count = number(), count <= rest.count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return String(validating: rest.prefix(count), as: UTF8.self)
        }
        guard let head = Self.head(rest.prefix(4)) else { return nil }
        rest = rest.dropFirst(4)
        var (note, findings, events) = (String?.none, [Finding](), [String]())
        if head.hasNote {
            guard let phrase = text() else { return nil }
            note = phrase
        }
        guard let hungLoads = HungLoads(rest.prefix(HungLoads.size)) else { return nil }
        rest = rest.dropFirst(HungLoads.size)
        guard let count = number(), count <= bytes.count else { return nil }
        for _ in 0..<count {
            guard let mark = rest.popFirst(), mark == Self.failureMark || mark == Self.warningMark, let detail = text(), let remedy = text()
            else { return nil }
            findings.append(Finding(mark == Self.failureMark ? .failure : .warning, detail, remedy: remedy.isEmpty ? nil : remedy))
        }
        guard let lineCount = number(), lineCount <= bytes.count else { return nil }
        for _ in 0..<lineCount {
            guard let line = text() else { return nil }
            events.append(line)
        }
        guard number() == findings.count(where: { $0.weight == .failure }), number() == findings.count(where: { $0.weight == .warning }),
            rest.count == 1, rest.first == Self.end, head.shortage == nil || note != nil
        else { return nil }
        self.init(rule, .of(findings, rule, wasSkipped: note != nil), findings: findings, note: note)
        (lastEvents, hasLeftOpen, shortage, self.hungLoads) = (events, head.hasLeftOpen, head.shortage, hungLoads)
    }

    private static func head(_ bytes: ArraySlice<UInt8>) -> (hasLeftOpen: Bool, shortage: ResourceShortage?, hasNote: Bool)? {
        let bytes = Array(bytes)
        guard bytes.count == 4, bytes[0] == start, bytes[1] <= 1, bytes[3] == noNote || bytes[3] == noteMark else { return nil }
        let shortage = ResourceShortage(rawValue: bytes[2])
        return shortage == nil && bytes[2] != 0 ? nil : (bytes[1] == 1, shortage, bytes[3] == noteMark)
    }

    /// Sets the stack of the crash, with the names of functions that could be found.
    ///
    /// - Parameter library: The plugin's library.
    mutating func nameCrash(by names: inout StackNames, library: String?) {
        crash = crashStack?.named(by: &names, library: library)
        stack = crash?.lines ?? []
    }
}
