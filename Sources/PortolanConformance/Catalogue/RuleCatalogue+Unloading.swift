// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let unloading: [ConformanceRule] = [
        .must(
            "UNLOAD-01", level: 3,
            "After deinit no thread runs the plugin's code.",
            because: "It would run for an instance that is gone.",
            remedy: "Join threads in deinit."),
        .must(
            "UNLOAD-02", level: 3,
            "With a new build beside the running one, new loads go to the new and old ones finish on the old.",
            because: "Authors rebuild all day.",
            remedy: "Keep state out of the process's shared names."),
        .must(
            "UNLOAD-03", level: 3, needs: .succeeds,
            "Stopping all of many loads and then deinit takes under a second.",
            because: "Programs end when their users close them.",
            remedy: "Stop in parallel, wait for nothing."),
        .must(
            "UNLOAD-04", level: 3,
            "After deinit no process that the plugin started is left.",
            because: "It runs on for nobody, and holds what it inherited: descriptors, memory, ports.",
            remedy: "End each process and wait for it, in deinit and on every path on which a load ends."),
    ]
}
