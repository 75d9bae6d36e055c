// SPDX-License-Identifier: Apache-2.0

/// Rules about one part of the contract.
public struct RuleCategory: Hashable, Sendable, Identifiable {
    /// The part of its rules' IDs before the number, for example `ORDER`.
    public let id: String
    /// The title for readers.
    public let title: String
    public let rules: [ConformanceRule]

    init(_ id: String, _ title: String, _ rules: [ConformanceRule]) {
        (self.id, self.title, self.rules) = (id, title, rules)
    }
}
