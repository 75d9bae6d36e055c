// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// WATCH: the descriptors and timers that a load watches through the host.
extension RuleCatalogue {
    static let watching: [CheckedRule] = [
        .must(
            "WATCH-01", level: 2, isEnforced: true,
            "Only event-driven loads watch file descriptors and set timers.",
            because: "A blocking load can wait on its own thread, and has no function woken.",
            remedy: "Wait with poll(2) in run, or make the load event-driven.",
            check: usesWatchesCorrectly(isBlocking: true) { flaw in
                flaw == .isOfBlockingLoad ? "it is a blocking load, but watches a descriptor or sets a timer" : nil
            }),
        .must(
            "WATCH-02", level: 2, isEnforced: true,
            "Loads watch file descriptors for published bits only, and use only published timer numbers.",
            because: "The host can't report events that it does not know.",
            remedy: "Use the values of portolan_readiness, and timers below PORTOLAN_TIMER_LIMIT.",
            check: usesWatchesCorrectly(isBlocking: false) { flaw in
                switch flaw {
                case .bits(let bits): "watch was called for \(bits), which are not published bits"
                case .timer(let timer): "timer \(timer) was set, but timers have numbers from 0 to \(DescriptorWatches.timerLimit - 1)"
                case .isOfBlockingLoad, .isClosed: nil
                }
            }),
        .must(
            "WATCH-03", level: 3, isEnforced: true,
            "The load calls unwatch before it closes a watched file descriptor.",
            because: "A moment later, another load may have a file with the same number.",
            remedy: "Call unwatch before close, except in stop and destroy.",
            check: usesWatchesCorrectly(isBlocking: false) { flaw in
                if case .isClosed(let descriptor) = flaw { "descriptor \(descriptor) was closed while it was watched" } else { nil }
            }),
    ]

    /// Returns a check of loads that reach their end, loads that are stopped at each of their first events, and loads
    /// that hang until they are stopped.
    ///
    /// - Parameter phrase: Describes a flaw; returns `nil` for a flaw that another rule reports.
    private static func usesWatchesCorrectly(
        isBlocking: Bool, _ phrase: @escaping @Sendable (ProbedWatches.Flaw) -> String?
    ) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
            try context.eachLoad(.any, and: [.hangs], isBlocking: isBlocking) { load, _, instance throws(CheckSkipped) in
                var isUsed = isBlocking
                for stop in [nil, 0, 1, 2] {
                    var (request, script) = try context.requestAndScript(load)
                    script.stopEventIndex = stop
                    let probedLoad = try context.make(request, of: instance, script)
                    try probedLoad.start()
                    if load.tags.contains(.hangs), !probedLoad.waitUntilIdle(.milliseconds(20)) { probedLoad.stop() }
                    let record = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit)
                    context.fail(probedLoad.client.watches.flaws.compactMap(phrase).map { "'\(load.url)': \($0)" })
                    guard record != nil else { throw CheckSkipped("'\(load.url)' did not end (LIFE-02)") }
                    if probedLoad.client.watches.isUsed { isUsed = true }
                }
                // A blocking load should watch nothing, so it is checked in any case.
                if !isUsed { throw CheckSkipped.notApplicable("'\(load.url)' watches nothing") }
            }
        }
    }
}
