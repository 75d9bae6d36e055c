// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let nesting: [ConformanceRule] = [
        .must(
            "NEST-01", level: 2, isEnforced: true, needs: .nested,
            "The inner request goes through the host and is marked.",
            because: "Policies hold for it, and it does not come back to the same handler.",
            remedy: "Open it with portolan.nested/1."),
        .must(
            "NEST-02", level: 2, needs: .nested,
            "An inner failure is the cause of the outer one.",
            because: "The user must learn which URL failed.",
            remedy: "Give nested->error as cause."),
        .must(
            "NEST-03", level: 3, needs: .nested,
            "Inner redirects and challenges are answered or passed on.",
            because: "The inner resource may be elsewhere.",
            remedy: "Leave them to the host."),
        .must(
            "NEST-04", level: 3, needs: .nested,
            "A pause reaches the inner load.",
            because: "Otherwise the memory of the process is the buffer.",
            remedy: "Read no more while paused."),
        .must(
            "NEST-05", level: 3, needs: .nested,
            "An inner body that is cut short, at any byte, is a failure.",
            because: "Half an archive that looks whole is worse than none.",
            remedy: "Look for the end mark of the format."),
        .must(
            "NEST-06", level: 4, needs: .nested,
            "An inner body that expands without end meets a limit.",
            because: "A few bytes can become all of memory.",
            remedy: "Limit ratio and total."),
        .must(
            "NEST-07", level: 3, isEnforced: true, needs: .nested,
            "Nesting deeper than the host's limit is an error that says so.",
            because: "A URL can name itself a thousand times.",
            remedy: "Pass the inner error on."),
        .must(
            "NEST-08", level: 3, isEnforced: true, needs: .nested,
            "A nested load is not used after it was closed, and is closed once.",
            because: "Its memory is gone.",
            remedy: "Forget the pointer when closing."),
    ]
}
