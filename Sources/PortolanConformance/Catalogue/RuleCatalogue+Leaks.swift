// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let leaks: [ConformanceRule] = [
        .must(
            "LEAK-01", level: 4, needs: .succeeds,
            "The heap does not grow over 1,000 loads.",
            because: "Servers run for months.",
            remedy: "Free in destroy everything that make and the load allocated."),
        .must(
            "LEAK-02", level: 4, needs: .succeeds,
            "The number of file descriptors does not grow over many loads.",
            because: "A process can have only a few hundred.",
            remedy: "Close each file descriptor on every path."),
        .must(
            "LEAK-03", level: 4, needs: .succeeds,
            "The number of threads does not grow over many loads.",
            because: "Each thread has a stack.",
            remedy: "Join each thread on every path."),
        .must(
            "LEAK-04", level: 4, needs: .succeeds,
            "Loads leave no temporary file.",
            because: "Disks become full.",
            remedy: "Unlink the file right after you open it."),
        .must(
            "LEAK-05", level: 4, needs: .succeeds,
            "The heap does not grow over 1,000 cancelled loads.",
            because: "Users cancel loads very often.",
            remedy: "Free in destroy, whatever happened before."),
        .must(
            "LEAK-06", level: 4, needs: .fails,
            "The heap does not grow over 1,000 failed loads.",
            because: "Programs try a peer that is down again and again.",
            remedy: "Free memory on the error path, too."),
        .must(
            "LEAK-07", level: 4, needs: .nested,
            "The load closes every nested load that it has opened.",
            because: "An open nested load keeps its connection open.",
            remedy: "Call close, also after a failure."),
    ]
}
