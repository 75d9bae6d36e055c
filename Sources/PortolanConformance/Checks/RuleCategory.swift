// SPDX-License-Identifier: Apache-2.0

/// Rules about one part of the contract.
public struct RuleCategory: Hashable, Sendable, Identifiable {
    /// The part of its rules' IDs before the number, for example `ORDER`.
    public let id: String
    /// The title for readers.
    public let title: String
    public let rules: [ConformanceRule]
    /// The checks of these rules, in the same order.
    let checks: [ConformanceCheck]

    init(_ id: String, _ title: String, _ rules: [CheckedRule]) {
        (self.id, self.title, self.rules, checks) = (id, title, rules.map(\.rule), rules.compactMap(\.check))
    }
}
