// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let performance: [ConformanceRule] = [
        .should(
            "PERF-01", level: 5, needs: .succeeds,
            "The cost of a small load is at most ten times the reference plugin's in the same run.",
            because: "Small loads are the most frequent.",
            remedy: "Measure, and remove copies and look-ups."),
        .should(
            "PERF-02", level: 5, needs: .large,
            "The speed of a large body is at least a tenth of the reference plugin's in the same run.",
            because: "Bytes are what a load is for.",
            remedy: "Deliver in runs of 64 KiB."),
        .should(
            "PERF-03", level: 5, needs: .large,
            "Peak memory above idle while a slow reader takes a large body is under 16 MiB.",
            because: "A hundred of them must fit.",
            remedy: "Stop reading while the reader is slow."),
        .should(
            "PERF-04", level: 5, needs: .large,
            "The first byte does not wait for the last.",
            because: "People see pages build up.",
            remedy: "Deliver as bytes come."),
        .must(
            "PERF-05", level: 5, needs: .large,
            "A hundred paused loads use no processor time.",
            because: "Phones sleep.",
            remedy: "Wait for resume."),
    ]
}
