// SPDX-License-Identifier: Apache-2.0

extension ConformanceCheck {
    /// All checks, in the catalogue's order. A rule without a check is not tested.
    public static let all: [ConformanceCheck] = RuleCatalogue.categories.flatMap(\.checks)

    /// The checks up to `level`.
    public static func all(level: Int) -> [ConformanceCheck] {
        all.filter { $0.rule.level <= level }
    }

    /// The check of this rule.
    public static func named(_ id: String) -> ConformanceCheck? {
        all.first { $0.id == id }
    }
}
