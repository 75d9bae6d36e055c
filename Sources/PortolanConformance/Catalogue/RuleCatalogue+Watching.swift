// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let watching: [ConformanceRule] = [
        .must(
            "WATCH-01", level: 2, isEnforced: true,
            "Only event-driven loads watch file descriptors and set timers.",
            because: "A blocking load can wait on its own thread, and has no function woken.",
            remedy: "Wait with poll(2) in run, or make the load event-driven."),
        .must(
            "WATCH-02", level: 2, isEnforced: true,
            "Loads watch file descriptors for published bits only, and use only published timer numbers.",
            because: "The host can't report events that it does not know.",
            remedy: "Use the values of portolan_readiness, and timers below PORTOLAN_TIMER_LIMIT."),
        .must(
            "WATCH-03", level: 3, isEnforced: true,
            "The load calls unwatch before it closes a watched file descriptor.",
            because: "A moment later, another load may have a file with the same number.",
            remedy: "Call unwatch before close, except in stop and destroy."),
    ]
}
