// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let performance: [ConformanceRule] = [
        .should(
            "PERF-01", level: 5, needs: .succeeds,
            "A small load costs at most ten times as much as one of the reference handler in the same run.",
            because: "Small loads are the most frequent.",
            remedy: "Measure, and remove copies and look-ups."),
        .should(
            "PERF-02", level: 5, needs: .large,
            "A large body arrives at a tenth of the reference handler's speed or more, in the same run.",
            because: "Bytes are the purpose of a load.",
            remedy: "Deliver in pieces of 64 KiB."),
        .should(
            "PERF-03", level: 5, needs: .large,
            "While a slow reader takes a large body, peak memory is less than 16 MiB above idle.",
            because: "A hundred such loads must fit into memory.",
            remedy: "Stop reading while the reader is slow."),
        .should(
            "PERF-04", level: 5, needs: .large,
            "The load delivers the first byte before the last one has arrived.",
            because: "Users see a page while it is loading.",
            remedy: "Deliver bytes as they arrive."),
        .must(
            "PERF-05", level: 5, needs: .large,
            "A hundred paused loads use no processor time.",
            because: "Phones must be able to sleep.",
            remedy: "Wait for resume."),
    ]
}
