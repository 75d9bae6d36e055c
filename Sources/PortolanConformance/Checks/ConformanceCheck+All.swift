// SPDX-License-Identifier: Apache-2.0

extension ConformanceCheck {
    /// All checks, in the catalogue's order. Some rules have no check.
    public static let all: [ConformanceCheck] = RuleCatalogue.categories.flatMap(\.checks)

    /// The checks up to `level`.
    public static func all(level: Int) -> [ConformanceCheck] {
        all.filter { $0.rule.level <= level }
    }

    /// The check of the rule with this ID; `nil` if there is none.
    public static func named(_ id: String) -> ConformanceCheck? {
        all.first { $0.id == id }
    }
}
