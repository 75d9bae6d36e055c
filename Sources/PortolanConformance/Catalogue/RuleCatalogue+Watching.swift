// SPDX-License-Identifier: Apache-2.0

extension RuleCatalogue {
    static let watching: [ConformanceRule] = [
        .must(
            "WATCH-01", level: 2, isEnforced: true,
            "Only event-driven loads have descriptors and timers watched.",
            because: "A blocking load has a thread that can wait, and none that could be woken.",
            remedy: "Wait by poll(2) in run, or make the load event-driven."),
        .must(
            "WATCH-02", level: 2, isEnforced: true,
            "Descriptors are watched for published bits, and timers have published numbers.",
            because: "What the host does not know it cannot tell of.",
            remedy: "Use the values of portolan_readiness, and timers below PORTOLAN_TIMER_LIMIT."),
        .must(
            "WATCH-03", level: 3, isEnforced: true,
            "A descriptor is unwatched before it is closed.",
            because: "Its number may be another load's file a moment later.",
            remedy: "Call unwatch before close, except in stop and destroy."),
    ]
}
