// SPDX-License-Identifier: Apache-2.0

/// Which checks show the same again.
extension CheckResult {
    /// Whether there is a check of this very rule. Of those that others show, each finding says which.
    var makesItself: Bool { rule.category != "MEM" }

    /// What `--filter` is to be given: the rule's ID, or those of the checks in which it was seen, if it was.
    var filter: String? {
        if makesItself { return rule.id }
        var ids: [String] = []
        for id in findings.compactMap(\.seenIn) where !ids.contains(id) { ids.append(id) }
        return ids.isEmpty ? nil : ids.prefix(8).joined(separator: ",")
    }

    /// The command that makes them.
    ///
    /// - Parameter command: up to the checks.
    func again(_ command: String) -> String { filter.map { "\(command) --filter \($0)" } ?? command }
}

extension Finding {
    /// For reports that have no place for a stack: everything, a line each.
    func lines(_ command: String) -> [String] {
        [detail] + stack.map { "  \($0)" } + (seenIn.map { ["  again: \(command) --filter \($0)"] } ?? [])
    }
}
