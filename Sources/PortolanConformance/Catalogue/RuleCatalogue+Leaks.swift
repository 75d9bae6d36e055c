// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let leaks: [ConformanceRule] = [
        .must(
            "LEAK-01", level: 4, needs: .succeeds,
            "The heap is flat over 1,000 loads.",
            because: "Servers run for months.",
            remedy: "Free in destroy all that make and the load took."),
        .must(
            "LEAK-02", level: 4, needs: .succeeds,
            "Descriptors are flat over many loads.",
            because: "A process has a few hundred.",
            remedy: "Close each on every path."),
        .must(
            "LEAK-03", level: 4, needs: .succeeds,
            "Threads are flat over many loads.",
            because: "Each has a stack.",
            remedy: "Join each on every path."),
        .must(
            "LEAK-04", level: 4, needs: .succeeds,
            "No temporary file is left.",
            because: "Disks fill.",
            remedy: "Unlink it right after opening."),
        .must(
            "LEAK-05", level: 4, needs: .succeeds,
            "The heap is flat over 1,000 cancelled loads.",
            because: "Cancelling is what users do most.",
            remedy: "Free in destroy, whatever happened before."),
        .must(
            "LEAK-06", level: 4, needs: .fails,
            "The heap is flat over 1,000 failed loads.",
            because: "A peer that is down is asked again and again.",
            remedy: "Free on the error path, too."),
        .must(
            "LEAK-07", level: 4, needs: .nested,
            "Every nested load that was opened has been closed.",
            because: "The inner peer's connection hangs on it.",
            remedy: "Call close, also after a failure."),
    ]
}
