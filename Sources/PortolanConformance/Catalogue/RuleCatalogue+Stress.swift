// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let stress: [ConformanceRule] = [
        .must(
            "LOAD-01", level: 4, needs: .succeeds,
            "Many loads at once with random stops: the rest come to what they come to alone.",
            because: "Servers do this all day.",
            remedy: "Share nothing between loads."),
        .must(
            "LOAD-02", level: 4, needs: .large,
            "64 large bodies at once with random pauses have the right digests.",
            because: "Readers are slow in turns.",
            remedy: "Keep the place in each load."),
        .must(
            "LOAD-03", level: 4, needs: .succeeds,
            "10,000 small loads one after another all succeed.",
            because: "What leaks a little ends late.",
            remedy: "Give everything back."),
        .must(
            "LOAD-04", level: 4, needs: .succeeds,
            "deinit asked for, and a new instance made, in the middle of loads does no harm.",
            because: "Settings change while loads run.",
            remedy: "Keep state per instance."),
        .must(
            "LOAD-05", level: 4, needs: .hangs,
            "One load that hangs for good leaves the others going.",
            because: "Peers die silently.",
            remedy: "Share no thread that may block."),
    ]
}
