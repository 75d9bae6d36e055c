// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let faults: [ConformanceRule] = [
        .must(
            "FAULT-01", level: 4, needs: .succeeds,
            "If any allocation in init or in a load fails, the load fails with an error or gives the right result.",
            because: "Memory often runs out at the worst moment.",
            remedy: "Check the result of malloc."),
        .must(
            "FAULT-02", level: 4, needs: .succeeds,
            "If no file descriptor is free, the load fails with an error or gives the right result.",
            because: "Servers run close to their limits.",
            remedy: "Check the results of open and socket."),
        .must(
            "FAULT-03", level: 4, needs: .succeeds,
            "If no thread can be created, the load fails with an error or gives the right result.",
            because: "Containers have limits.",
            remedy: "Check the result of pthread_create."),
        .must(
            "FAULT-04", level: 4, needs: .succeeds,
            "If signals interrupt system calls all the time, the load gives the right result.",
            because: "Profilers and terminals send signals.",
            remedy: "Repeat the call on EINTR."),
        .must(
            "FAULT-05", level: 4, needs: .succeeds,
            "Writing to a closed pipe or socket does not kill the host.",
            because: "By default, SIGPIPE ends a process.",
            remedy: "Use MSG_NOSIGNAL."),
        .must(
            "FAULT-06", level: 4, needs: .succeeds,
            "If the temporary folder is full, the load fails with an error or gives the right result.",
            because: "Disks become full.",
            remedy: "Check the results of write and close."),
        .must(
            "FAULT-07", level: 4, needs: .any,
            "If any function of the host refuses once, the load fails with an error or gives the right result.",
            because: "Hosts have limits, too.",
            remedy: "Check the result of each call."),
    ]
}
