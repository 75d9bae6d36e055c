// SPDX-License-Identifier: Apache-2.0

/// Rules about one part of the contract.
public struct RuleCategory: Hashable, Sendable, Identifiable {
    /// What stands before the number of its rules, as in `ORDER`.
    public let id: String
    /// For people.
    public let title: String
    public let rules: [ConformanceRule]

    init(_ id: String, _ title: String, _ rules: [ConformanceRule]) {
        (self.id, self.title, self.rules) = (id, title, rules)
    }
}
