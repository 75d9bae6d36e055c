// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let faults: [ConformanceRule] = [
        .must(
            "FAULT-01", level: 4, needs: .succeeds,
            "The n-th allocation fails, for n over init and a whole load: an error or a right result.",
            because: "Memory ends when it is needed most.",
            remedy: "Look at what malloc returns."),
        .must(
            "FAULT-02", level: 4, needs: .succeeds,
            "No descriptor is free: an error or a right result.",
            because: "Servers run at the limit.",
            remedy: "Look at what open and socket return."),
        .must(
            "FAULT-03", level: 4, needs: .succeeds,
            "No thread can be made: an error or a right result.",
            because: "Containers have limits.",
            remedy: "Look at what pthread_create returns."),
        .must(
            "FAULT-04", level: 4, needs: .succeeds,
            "Calls that are interrupted by signals throughout: a right result.",
            because: "Profilers and terminals send signals.",
            remedy: "Repeat on EINTR."),
        .must(
            "FAULT-05", level: 4, needs: .succeeds,
            "Writing to a closed pipe or socket does not kill the host.",
            because: "SIGPIPE ends a process by default.",
            remedy: "Use MSG_NOSIGNAL."),
        .must(
            "FAULT-06", level: 4, needs: .succeeds,
            "The temporary folder is full: an error or a right result.",
            because: "Disks fill.",
            remedy: "Look at what write and close return."),
        .must(
            "FAULT-07", level: 4, needs: .any,
            "Each host function refuses once: an error or a right result.",
            because: "Hosts have limits, too.",
            remedy: "Look at each answer."),
    ]
}
