// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// FLOW: a reader that has no room, and one that wants no more.
extension ConformanceCheck {
    static let flow: [ConformanceCheck] = [
        paused("FLOW-01") { $0 != .finish },
        compared("FLOW-02", "a pause at each delivery", { $0.pauses = .each }, with: { _ in }),
        compared(
            "FLOW-03", "pauses of 300 ms",
            { script in
                script.pauses = .each
                script.pauseTime = .milliseconds(300)
            }, with: { $0.pauses = .each }, blocking: .milliseconds(60)),
        ConformanceCheck("FLOW-04") { trial throws(Unjudged) in
            try trial.eachLoad(.any, and: [.large], isBlocking: false) { load, _, instance throws(Unjudged) in
                var (request, script) = try trial.scene(load)
                // What waits for something else is what can be resumed unasked.
                (script.bodySource, script.decision) = (.slow, .later)
                let plain = try trial.settled(request, of: instance, script)
                script.resumesUnasked = true
                let resumed = try trial.settled(request, of: instance, script)
                let (found, expected) = (resumed.map { LoadResult($0) }, plain.map { LoadResult($0) })
                if let plain, let resumed, resumed.questionCount > plain.questionCount {
                    trial.fail("'\(load.url)' asks again where it is resumed while its question waits")
                }
                if found != expected, !trial.varies(load) {
                    let words = [found, expected].map { $0?.words ?? "no end" }
                    trial.fail(
                        "'\(load.url)' gives \(words[0]) where it is resumed after deliveries that did not pause it, else \(words[1])")
                }
            }
        },
        ConformanceCheck("FLOW-05") { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds, isBlocking: false) { load, request, instance throws(Unjudged) in
                let made = try trial.held(request, of: instance, load)
                made.stop()
                guard let record = trial.settled(made, within: trial.shortPatience) else {
                    return trial.fail("'\(load.url)': it did not come to rest after a stop in a pause")
                }
                if let late = record.calls.first(where: { $0.call.isEvent && $0.stage == .stopped && $0.within != .destroy }) {
                    trial.fail(
                        "'\(load.url)': \(late.call.function) came from \(late.within?.rawValue ?? "nowhere") after a stop in a pause")
                }
            }
        },
        ConformanceCheck("FLOW-06") { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds, and: [.redirects, .challenges, .uploads]) { load, _, instance throws(Unjudged) in
                var (request, script) = try trial.scene(load)
                script.takesRedirects = false
                let count = try trial.perform(request, of: instance, script).events.count
                for index in 0..<min(count, 8) {
                    script.stopsAt = index
                    guard let record = try trial.stopped(request, of: instance, by: script) else {
                        throw Unjudged("'\(load.url)' did not come to rest after a stop (ORDER-07)")
                    }
                    guard let late = record.toldAfterStop.first else { continue }
                    trial.fail("'\(load.url)': \(late.call.function) was called after a call was answered PORTOLAN_STOPPED")
                }
            }
        },
        paused("FLOW-07") { $0 == .finish },
        ConformanceCheck("FLOW-08", needsProcess: true) { trial throws(Unjudged) in
            try trial.eachLoad(.large) { load, request, instance throws(Unjudged) in
                try trial.eachHeld(request, of: instance, load) {
                    let before = ProcessCensus.residentBytes()
                    Patience.watch(.milliseconds(500))
                    let growth = ProcessCensus.residentBytes() - before
                    if growth > 32 << 20 { trial.fail("'\(load.url)': memory grew by \(growth >> 20) MiB in a pause of half a second") }
                }
            }
        },
        ConformanceCheck("FLOW-09", needsProcess: true) { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                try trial.eachHeld(request, of: instance, load) {
                    let time = ProcessCensus.processorTimeAtRest()
                    if time > .milliseconds(10) {
                        trial.fail("'\(load.url)': a pause of 200 ms took \(Words.time(time)) of processor time")
                    }
                }
            }
        },
        ConformanceCheck("FLOW-10") { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds, isBlocking: false) { load, request, instance throws(Unjudged) in
                let known = try trial.known(load, request, of: instance)
                let made = try trial.held(request, of: instance, load)
                let other = try trial.settled(request, of: instance, known.script)
                trial.expectSame(other, as: known, "while another load of it was paused")
                made.stop()
                _ = trial.settled(made, within: trial.shortPatience)
            }
        },
    ]

    /// Pauses each delivery, and looks for those that come all the same.
    private static func paused(_ id: String, _ isMeant: @escaping @Sendable (ClientCall) -> Bool) -> ConformanceCheck {
        ConformanceCheck(id) { trial throws(Unjudged) in
            let others: [ConformanceRule.Scenario] = [.redirects, .challenges, .uploads]
            try trial.eachLoad(.succeeds, and: others, isBlocking: false) { load, _, instance throws(Unjudged) in
                var (request, script) = try trial.scene(load)
                script.takesRedirects = false
                script.pauses = .each
                script.pauseTime = .milliseconds(20)
                script.wakesInPause = true
                guard let record = try trial.settled(request, of: instance, script) else {
                    return trial.fail("'\(load.url)' did not end: pauses at each delivery, each resumed after 20 ms")
                }
                let early = record.calls.first { $0.stage == .paused && $0.call.isDelivery && isMeant($0.call) && $0.within != .destroy }
                if let early { trial.fail("'\(load.url)': \(early.call.function) was called in a pause") }
            }
        }
    }

    /// Looks whether a load comes to the same under `condition` as under `usual`.
    ///
    /// - Parameter time: how long the first deliveries of a load that blocks take, which are its pauses; `nil`: they are not looked at.
    private static func compared(
        _ id: String, _ words: String, _ condition: @escaping @Sendable (inout ClientScript) -> Void,
        with usual: @escaping @Sendable (inout ClientScript) -> Void, blocking time: Duration? = nil
    ) -> ConformanceCheck {
        ConformanceCheck(id) { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds, isBlocking: time == nil ? false : nil) { load, request, instance throws(Unjudged) in
                var (script, plain) = (Trial.script(for: load), Trial.script(for: load))
                usual(&plain)
                condition(&script)
                var words = words
                if let time, try trial.handler(for: request, of: instance)?.description.isBlocking == true {
                    words = "deliveries that take \(Words.time(time))"
                    script.pauseTime = time
                }
                let expected = LoadResult(try trial.perform(request, of: instance, plain))
                guard let record = try trial.settled(request, of: instance, script) else {
                    return trial.fail("'\(load.url)' did not end with \(words)")
                }
                let found = LoadResult(record)
                if found != expected, !trial.varies(load) {
                    trial.fail("'\(load.url)' gives \(found.words) with \(words), and \(expected.words) without")
                }
            }
        }
    }
}
