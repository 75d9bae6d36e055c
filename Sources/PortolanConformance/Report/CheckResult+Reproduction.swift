// SPDX-License-Identifier: Apache-2.0

/// The checks that reproduce a result.
extension CheckResult {
    /// Whether the rule has its own check. Otherwise each finding names the check in which it was seen.
    var hasOwnCheck: Bool { rule.category != "MEM" }

    /// The argument of `--filter`: the rule's ID, or the IDs of the checks in which it was seen; `nil` if there are
    /// none.
    var filter: String? {
        if hasOwnCheck { return rule.id }
        var ids: [String] = []
        for id in findings.compactMap(\.seenIn) where !ids.contains(id) { ids.append(id) }
        return ids.isEmpty ? nil : ids.prefix(8).joined(separator: ",")
    }

    /// The command that runs these checks.
    ///
    /// - Parameter command: The command without `--filter`.
    func repeatCommand(_ command: String) -> String { filter.map { "\(command) --filter \($0)" } ?? command }
}

extension Finding {
    /// All parts of the finding, one line each, for reports without a place for a stack.
    func lines(_ command: String) -> [String] {
        [detail] + stack.map { "  \($0)" } + (seenIn.map { ["  again: \(command) --filter \($0)"] } ?? [])
    }
}
