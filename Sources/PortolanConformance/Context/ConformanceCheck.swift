// SPDX-License-Identifier: Apache-2.0

/// The check of one rule.
///
///     let runner = ConformanceRunner(ConformanceTarget(library: "/usr/lib/portolan/tide.so"))
///
///     @Test(arguments: ConformanceCheck.all(level: 3).filter { !$0.needsProcess })
///     func keepsTheContract(_ check: ConformanceCheck) {
///         let result = runner.result(of: check)
///         #expect(!result.verdict.isFailure, "\(result.findings.map(\.detail))")
///     }
public struct ConformanceCheck: Sendable, Identifiable, CustomStringConvertible {
    public let rule: ConformanceRule
    /// Whether the check reads or changes what the whole process shares: descriptors, threads, memory and processor
    /// time, environment, limits, standard output. Such a check needs its own process; `portolan check` provides one.
    /// In a test that runs beside others, the check also sees their resources.
    public let needsProcess: Bool
    let body: Body

    /// Runs the check, and adds its findings to the context. Throws if the rule cannot be checked.
    typealias Body = @Sendable (CheckContext) throws(CheckSkipped) -> Void

    public var id: String { rule.id }
    /// For example `ORDER-02: A load has exactly one end…`.
    public var description: String { "\(rule.id): \(rule.sentence)" }

    init(_ rule: ConformanceRule, needsProcess: Bool, _ body: @escaping Body) {
        (self.rule, self.needsProcess, self.body) = (rule, needsProcess, body)
    }
}

extension ConformanceCheck: Hashable {
    public static func == (a: Self, b: Self) -> Bool { a.rule == b.rule }
    public func hash(into hasher: inout Hasher) { hasher.combine(rule.id) }
}
