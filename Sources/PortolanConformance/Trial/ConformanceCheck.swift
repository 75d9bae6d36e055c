// SPDX-License-Identifier: Apache-2.0

/// How one rule is judged.
///
///     let judge = Judge(Subject(library: "/usr/lib/portolan/tide.so"))
///
///     @Test(arguments: ConformanceCheck.all(level: 3).filter { !$0.needsProcess })
///     func keepsTheContract(_ check: ConformanceCheck) {
///         let result = judge.result(of: check)
///         #expect(!result.verdict.isFailure, "\(result.findings.map(\.detail))")
///     }
public struct ConformanceCheck: Sendable, Identifiable, CustomStringConvertible {
    public let rule: ConformanceRule
    /// Whether it looks at what the whole process has or shares, or changes that: descriptors, threads, memory and processor time, environment, limits,
    /// standard output. It is for a process of its own, as `portolan check` gives it; in a test that runs beside others it sees theirs, too.
    public let needsProcess: Bool
    /// Looks, and leaves what is wrong with the trial. Throws where it can't be judged.
    let judge: @Sendable (Trial) throws(Unjudged) -> Void

    public var id: String { rule.id }
    /// As in `ORDER-02: A load has exactly one end…`.
    public var description: String { "\(rule.id): \(rule.sentence)" }

    init(_ id: String, needsProcess: Bool = false, _ judge: @escaping @Sendable (Trial) throws(Unjudged) -> Void) {
        guard let rule = RuleCatalogue.rule(id) else { preconditionFailure("no rule \(id) is in the catalogue") }
        (self.rule, self.needsProcess, self.judge) = (rule, needsProcess, judge)
    }
}

extension ConformanceCheck: Hashable {
    public static func == (a: Self, b: Self) -> Bool { a.rule == b.rule }
    public func hash(into hasher: inout Hasher) { hasher.combine(rule.id) }
}
