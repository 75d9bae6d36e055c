// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let unloading: [ConformanceRule] = [
        .must(
            "UNLOAD-01", level: 3,
            "After deinit, no thread runs the plugin's code.",
            because: "The thread would run for an instance that no longer exists.",
            remedy: "Join threads in deinit."),
        .must(
            "UNLOAD-02", level: 3,
            "If a new build is opened beside the running one, new loads use the new build and old loads finish on the old one.",
            because: "Plugin authors rebuild very often.",
            remedy: "Keep no state under names that the process shares."),
        .must(
            "UNLOAD-03", level: 3, needs: .succeeds,
            "Stopping many loads and then calling deinit takes less than a second.",
            because: "Users expect that a program ends when they close it.",
            remedy: "Stop the loads in parallel, and wait for nothing."),
        .must(
            "UNLOAD-04", level: 3,
            "After deinit, no process that the plugin started is left.",
            because: "It would run without a purpose, and keep what it inherited: file descriptors, memory and ports.",
            remedy: "End each process and wait for it, in deinit and on every path on which a load ends."),
    ]
}
