// SPDX-License-Identifier: Apache-2.0

extension ConformanceCheck {
    /// Every check there is, in the catalogue's order. A rule without one is not judged.
    public static let all: [ConformanceCheck] = {
        let checks =
            descriptor + registration + questions + canonicalForm + life + order + body + errors + messages + flow + cancellation
            + challenges + uploads + threads + leaks + nesting + manifest + stress + faults + fuzzing + performance
        let places = Dictionary(RuleCatalogue.rules.enumerated().map { ($1.id, $0) }) { first, _ in first }
        return checks.sorted { places[$0.id, default: 0] < places[$1.id, default: 0] }
    }()

    /// The checks up to `level`.
    public static func all(level: Int) -> [ConformanceCheck] {
        all.filter { $0.rule.level <= level }
    }

    /// Whether it looks at what the whole process has or shares, or changes that: descriptors, threads, memory and processor time, environment, limits,
    /// standard output. It is for a process of its own, as `portolan check` gives it; in a test that runs beside others it sees theirs, too.
    public var needsProcess: Bool { Self.processWide.contains(id) }

    private static let processWide: Set<String> = [
        "DESC-09", "REG-03", "REG-05", "CAN-03", "LIFE-07", "FLOW-08", "FLOW-09", "CANCEL-05", "THREAD-04", "THREAD-08", "ERR-06", "SEC-04",
        "SEC-06",
        "LEAK-02", "LEAK-03", "LEAK-04", "UNLOAD-01", "FAULT-02", "FAULT-04", "PERF-03", "PERF-05",
    ]

    /// The check of this rule.
    public static func named(_ id: String) -> ConformanceCheck? {
        all.first { $0.id == id }
    }
}
