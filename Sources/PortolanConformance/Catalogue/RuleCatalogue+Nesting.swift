// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let nesting: [ConformanceRule] = [
        .must(
            "NEST-01", level: 2, isEnforced: true, needs: .nested,
            "A load opens its nested load through the host, which marks the nested request.",
            because: "Policies apply to the nested request, and it does not come back to the same handler.",
            remedy: "Open the nested load with portolan.nested/1."),
        .must(
            "NEST-02", level: 2, needs: .nested,
            "If a nested load fails, its error is the cause of the outer load's error.",
            because: "The user must know which URL failed.",
            remedy: "Pass the result of nested->error as cause."),
        .must(
            "NEST-03", level: 3, needs: .nested,
            "Redirects and challenges of a nested load are handled or passed on.",
            because: "The nested resource may be at another URL.",
            remedy: "Leave them to the host."),
        .must(
            "NEST-04", level: 3, needs: .nested,
            "A pause of the outer load also pauses the nested load.",
            because: "Otherwise the process keeps the whole body in memory.",
            remedy: "Do not read from the nested load while the outer load is paused."),
        .must(
            "NEST-05", level: 3, needs: .nested,
            "If the body of a nested load ends too early, at any byte, the outer load fails.",
            because: "Half an archive that looks complete is worse than none.",
            remedy: "Check for the end mark of the format."),
        .must(
            "NEST-06", level: 4, needs: .nested,
            "A nested body that expands without end reaches a limit.",
            because: "A few bytes can expand until memory is full.",
            remedy: "Limit the ratio and the total size."),
        .must(
            "NEST-07", level: 3, isEnforced: true, needs: .nested,
            "If loads are nested deeper than the host's limit, the load fails with an error that says so.",
            because: "A URL can contain itself a thousand times.",
            remedy: "Pass on the error of the nested load."),
        .must(
            "NEST-08", level: 3, isEnforced: true, needs: .nested,
            "The load closes a nested load once, and does not use it after that.",
            because: "The memory of a closed nested load is freed.",
            remedy: "Forget the pointer when you close the nested load."),
    ]
}
