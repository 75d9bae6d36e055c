// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let stress: [ConformanceRule] = [
        .must(
            "LOAD-01", level: 4, needs: .succeeds,
            "If many loads run at once and random ones are stopped, the others have the same results as alone.",
            because: "Servers do this all day.",
            remedy: "Share nothing between loads."),
        .must(
            "LOAD-02", level: 4, needs: .large,
            "64 loads of large bodies at once, with random pauses, have the right digests.",
            because: "Readers are slow at different times.",
            remedy: "Keep the position in each load."),
        .must(
            "LOAD-03", level: 4, needs: .succeeds,
            "10,000 small loads one after another all succeed.",
            because: "A small leak shows only after many loads.",
            remedy: "Free everything that a load used."),
        .must(
            "LOAD-04", level: 4, needs: .succeeds,
            "Starting and ending another instance while loads run does no harm.",
            because: "Settings change while loads run.",
            remedy: "Keep state in each instance."),
        .must(
            "LOAD-05", level: 4, needs: .hangs,
            "A load that hangs forever does not block other loads.",
            because: "Peers can disappear without a message.",
            remedy: "Share no thread that may block."),
    ]
}
