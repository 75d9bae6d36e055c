// SPDX-License-Identifier: Apache-2.0

/// All rules of the plugin contract, in the order of the documentation.
///
/// This is the only source: `docs/conformance.md`, `portolan check --list` and the IDs in the C headers come from here.
/// An ID is stable once it is published; a removed rule leaves a gap.
public enum RuleCatalogue {
    public static let categories: [RuleCategory] = [
        RuleCategory("DESC", "The library and its descriptor", descriptor),
        RuleCategory("REG", "Start and end of an instance", registration),
        RuleCategory("CAN", "can_init", canInit),
        RuleCategory("CANON", "Canonical form and cache equivalence", canonicalForm),
        RuleCategory("LIFE", "The life of a load", life),
        RuleCategory("ORDER", "The order of events", order),
        RuleCategory("BODY", "Bodies", body),
        RuleCategory("FLOW", "Pause and resume", flow),
        RuleCategory("CANCEL", "Cancellation", cancellation),
        RuleCategory("THREAD", "Threads", threads),
        RuleCategory("REDIR", "Redirects", redirects),
        RuleCategory("CHAL", "Authentication", challenges),
        RuleCategory("CACHE", "Stored responses", caching),
        RuleCategory("UPLOAD", "Uploads", uploads),
        RuleCategory("NEST", "Nested loads", nesting),
        RuleCategory("WATCH", "Watched descriptors and timers", watching),
        RuleCategory("PROP", "Properties of requests", properties),
        RuleCategory("ERR", "Errors", errors),
        RuleCategory("LEAK", "Leaks", leaks),
        RuleCategory("MEM", "Memory, checked with Valgrind", memory),
        RuleCategory("FUZZ", "Seeded random input", fuzzing),
        RuleCategory("FAULT", "Fault injection", faults),
        RuleCategory("LOAD", "Many loads", stress),
        RuleCategory("PERF", "Performance", performance),
        RuleCategory("MANIF", "Manifests", manifests),
        RuleCategory("SEC", "Security", security),
        RuleCategory("UNLOAD", "The end of a plugin", unloading),
    ]

    public static let rules: [ConformanceRule] = categories.flatMap(\.rules)

    private static let byID = Dictionary(rules.map { ($0.id, $0) }) { first, _ in first }

    /// The rule with this ID, for example `ORDER-02`.
    public static func rule(_ id: String) -> ConformanceRule? { byID[id] }
}
