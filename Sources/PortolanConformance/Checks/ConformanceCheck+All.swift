// SPDX-License-Identifier: Apache-2.0

extension ConformanceCheck {
    /// All checks, in the catalogue's order. A rule without a check is not tested.
    public static let all: [ConformanceCheck] = {
        let checks =
            descriptor + registration + canInit + canonicalForm + life + order + body + errors + messages + flow + cancellation
            + challenges + uploads + threads + leaks + heap + nesting + watching + manifest + security + stress + faults + refusals
            + fuzzing
            + performance
        let places = Dictionary(RuleCatalogue.rules.enumerated().map { ($1.id, $0) }) { first, _ in first }
        return checks.sorted { places[$0.id, default: 0] < places[$1.id, default: 0] }
    }()

    /// The checks up to `level`.
    public static func all(level: Int) -> [ConformanceCheck] {
        all.filter { $0.rule.level <= level }
    }

    /// The check of this rule.
    public static func named(_ id: String) -> ConformanceCheck? {
        all.first { $0.id == id }
    }
}
