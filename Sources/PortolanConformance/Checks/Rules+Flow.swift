// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// FLOW: a reader that has no room, and a reader that stops early.
extension RuleCatalogue {
    static let flow: [CheckedRule] = [
        .must(
            "FLOW-01", level: 3, isEnforced: true, needs: .succeeds,
            "After a client call returns PORTOLAN_PAUSE, the load delivers nothing until 'resume'.",
            because: "The reader has no room for more data.",
            remedy: "Keep a flag, and check it before each delivery.",
            check: deliversNothingInPause { $0 != .finish }),
        .must(
            "FLOW-02", level: 3, needs: .succeeds,
            "With a pause at every delivery, no byte is lost or repeated.",
            because: "The client has taken the bytes for which it returns PORTOLAN_PAUSE.",
            remedy: "After 'resume', continue behind those bytes.",
            check: givesSameResult("a pause at each delivery", { $0.pauses = .each }, with: { _ in })),
        .must(
            "FLOW-03", level: 3, needs: .succeeds,
            "An immediate resume and a late resume give the same bytes.",
            because: "Some readers are fast, and some are slow.",
            remedy: "Wait for 'resume', not for a time.",
            check: givesSameResult(
                "pauses of 300 ms",
                { script in
                    script.pauses = .each
                    script.pauseTime = .milliseconds(300)
                }, with: { $0.pauses = .each }, blocking: .milliseconds(60))),
        .must(
            "FLOW-04", level: 3, needs: .succeeds,
            "A resume without a pause does nothing.",
            because: "A resume may arrive while the load is ending.",
            remedy: "Deliver only data that is waiting."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.any, and: [.large], isBlocking: false) { load, _, instance throws(CheckSkipped) in
                var (request, script) = try context.requestAndScript(load)
                // A load that waits for a body or a decision can be resumed without a pause.
                (script.bodySource, script.decision) = (.slow, .later)
                let plain = try context.recordWhenIdle(request, of: instance, script)
                script.resumesWithoutPause = true
                let resumed = try context.recordWhenIdle(request, of: instance, script)
                let (found, expected) = (resumed.map { LoadResult($0) }, plain.map { LoadResult($0) })
                if let plain, let resumed, resumed.challengeCount > plain.challengeCount {
                    context.fail("'\(load.url)' sent its challenge again when it was resumed during the challenge")
                }
                if found != expected, !context.varies(load) {
                    let phrases = [found, expected].map { $0?.phrase ?? "no end" }
                    context.fail(
                        "'\(load.url)' gave \(phrases[0]) when it was resumed without a pause, but \(phrases[1]) otherwise")
                }
            }
        },
        .must(
            "FLOW-05", level: 3, needs: .succeeds,
            "A stop during a pause ends the load without another event.",
            because: "The caller wants no more events.",
            remedy: "Deliver nothing from 'stop'."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds, isBlocking: false) { load, request, instance throws(CheckSkipped) in
                let probedLoad = try context.pausedLoad(request, of: instance, load)
                probedLoad.stop()
                guard let record = context.recordWhenIdle(probedLoad, within: context.stopTimeLimit) else {
                    return context.fail("'\(load.url)' was still running after a stop in a pause")
                }
                if let lateEvent = record.calls.first(where: { $0.call.isEvent && $0.stage == .stopped && $0.within != .destroy }) {
                    context.fail(
                        "'\(load.url)', stopped in a pause: \(lateEvent.call.function) was called from \(lateEvent.within?.rawValue ?? "elsewhere")"
                    )
                }
            }
        },
        .must(
            "FLOW-06", level: 3, isEnforced: true, needs: .succeeds,
            "After a client call returns PORTOLAN_STOPPED, the load delivers nothing more.",
            because: "The caller does not want the rest.",
            remedy: "Return as soon as you get PORTOLAN_STOPPED."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds, and: [.redirects, .challenges, .uploads]) { load, _, instance throws(CheckSkipped) in
                var (request, script) = try context.requestAndScript(load)
                script.followsRedirects = false
                let count = try context.perform(request, of: instance, script).events.count
                for index in 0..<min(count, 8) {
                    script.stopEventIndex = index
                    guard let record = try context.recordOfStoppedLoad(request, of: instance, by: script) else {
                        throw CheckSkipped("'\(load.url)' was still running after a stop (ORDER-07)")
                    }
                    guard let lateEvent = record.eventsAfterStop.first else { continue }
                    context.fail("'\(load.url)': \(lateEvent.call.function) was called after a client call had returned PORTOLAN_STOPPED")
                }
            }
        },
        .must(
            "FLOW-07", level: 3, isEnforced: true, needs: .succeeds,
            "A paused load does not call did_finish.",
            because: "did_finish would overtake bytes that wait.",
            remedy: "Call did_finish after 'resume'.",
            check: deliversNothingInPause { $0 == .finish }),
        .must(
            "FLOW-08", level: 4, needs: .large,
            "Memory stays bounded while a load with a large body is paused.",
            because: "A slow reader must not fill the computer's memory.",
            remedy: "Stop reading from the source while the load is paused.", needsProcess: true
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.large) { load, request, instance throws(CheckSkipped) in
                try context.eachPausedLoad(request, of: instance, load) {
                    let before = ProcessResources.residentBytes()
                    Polling.sleep(.milliseconds(500))
                    let growth = ProcessResources.residentBytes() - before
                    if growth > 32 << 20 { context.fail("'\(load.url)': memory grew by \(growth >> 20) MiB in a pause of half a second") }
                }
            }
        },
        .must(
            "FLOW-09", level: 4, needs: .succeeds,
            "A paused load uses no processor time.",
            because: "A loop that polls drains the battery.",
            remedy: "Wait for 'resume'.", needsProcess: true
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                try context.eachPausedLoad(request, of: instance, load) {
                    let time = ProcessResources.processorTimeAtRest()
                    if time > .milliseconds(10) {
                        context.fail("'\(load.url)': a pause of 200 ms used \(ValueFormatting.time(time)) of processor time")
                    }
                }
            }
        },
        .must(
            "FLOW-10", level: 3, needs: .succeeds,
            "A paused load does not block another load.",
            because: "The readers of two loads are independent.",
            remedy: "Share no queue or lock between loads."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds, isBlocking: false) { load, request, instance throws(CheckSkipped) in
                let baseline = try context.baseline(load, request, of: instance)
                let probedLoad = try context.pausedLoad(request, of: instance, load)
                let other = try context.recordWhenIdle(request, of: instance, baseline.script)
                context.expectSame(other, as: baseline, "while another load of it was paused")
                probedLoad.stop()
                _ = context.recordWhenIdle(probedLoad, within: context.stopTimeLimit)
            }
        },
    ]

    /// Returns a check that pauses each delivery, and looks for forbidden deliveries during the pauses.
    private static func deliversNothingInPause(_ isForbidden: @escaping @Sendable (ClientCall) -> Bool) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
            let others: [ConformanceRule.Scenario] = [.redirects, .challenges, .uploads]
            try context.eachLoad(.succeeds, and: others, isBlocking: false) { load, _, instance throws(CheckSkipped) in
                var (request, script) = try context.requestAndScript(load)
                script.followsRedirects = false
                script.pauses = .each
                script.pauseTime = .milliseconds(20)
                script.wakesInPause = true
                guard let record = try context.recordWhenIdle(request, of: instance, script) else {
                    return context.fail("'\(load.url)' did not end with a pause at each delivery, each resumed after 20 ms")
                }
                let earlyEvent = record.calls.first {
                    $0.stage == .paused && $0.call.isDelivery && isForbidden($0.call) && $0.within != .destroy
                }
                if let earlyEvent { context.fail("'\(load.url)': \(earlyEvent.call.function) was called in a pause") }
            }
        }
    }

    /// Returns a check that a load has the same result with the changed script as with the usual script.
    ///
    /// - Parameters:
    ///   - phrase: Describes the changed script.
    ///   - time: How long each of the first deliveries of a blocking load takes, because a blocking load is paused
    ///     inside a delivery. `nil` skips blocking loads.
    private static func givesSameResult(
        _ phrase: String, _ changedScript: @escaping @Sendable (inout ClientScript) -> Void,
        with usualScript: @escaping @Sendable (inout ClientScript) -> Void, blocking time: Duration? = nil
    ) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds, isBlocking: time == nil ? false : nil) { load, request, instance throws(CheckSkipped) in
                var (script, plain) = (CheckContext.script(for: load), CheckContext.script(for: load))
                usualScript(&plain)
                changedScript(&script)
                var phrase = phrase
                if let time, try context.handler(for: request, of: instance)?.description.isBlocking == true {
                    phrase = "deliveries that take \(ValueFormatting.time(time))"
                    script.pauseTime = time
                }
                let expected = LoadResult(try context.perform(request, of: instance, plain))
                guard let record = try context.recordWhenIdle(request, of: instance, script) else {
                    return context.fail("'\(load.url)' did not end with \(phrase)")
                }
                let found = LoadResult(record)
                if found != expected, !context.varies(load) {
                    context.fail("'\(load.url)' gave \(found.phrase) with \(phrase), but \(expected.phrase) without")
                }
            }
        }
    }
}
