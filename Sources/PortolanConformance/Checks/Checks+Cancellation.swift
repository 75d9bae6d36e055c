// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import Synchronization

/// CANCEL: loads that nobody wants any more.
extension ConformanceCheck {
    static let cancellation: [ConformanceCheck] = [
        ConformanceCheck("CANCEL-01") { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                let count = try trial.perform(request, of: instance, Trial.script(for: load)).events.count
                for index in 0..<min(count, 8) {
                    guard let record = try trial.stopped(request, of: instance, atEvent: index, Trial.script(for: load)) else {
                        throw Unjudged("'\(load.url)' did not come to rest after a stop (CANCEL-04, ORDER-07)")
                    }
                    guard let late = record.toldAfterStop.first else { continue }
                    let place = late.within == .stop ? "from within stop" : "after stop had returned"
                    trial.fail("'\(load.url)': \(late.call.function) was called \(place), at its event \(index + 1)")
                }
            }
        },
        ConformanceCheck("CANCEL-02") { trial throws(Unjudged) in
            var random = SplitMix(seed: trial.seed)
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                let start = MonotonicTime.now
                _ = try trial.perform(request, of: instance, Trial.script(for: load))
                // For as long as it takes, and a little more; of one that takes long the first moments.
                let longest = min(max(MonotonicTime.now - start, .milliseconds(4)), .milliseconds(50)) / .microseconds(1)
                for _ in 0..<32 {
                    let made = try trial.make(request, of: instance, Trial.script(for: load))
                    try made.start()
                    Patience.watch(.microseconds(Int64(random.next() % UInt64(longest))))
                    made.stop()
                    if trial.settled(made, within: .seconds(1)) == nil {
                        return trial.fail("'\(load.url)' did not come to rest within a second after a stop between two events")
                    }
                }
            }
        },
        ConformanceCheck("CANCEL-03") { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds, isBlocking: true) { load, request, instance throws(Unjudged) in
                guard let function = try trial.functionThatHoldsUpStop(of: load, request, instance) else { return }
                trial.fail("'\(load.url)': a stop on another thread did not return for a second while \(function) ran")
            }
        },
        ConformanceCheck("CANCEL-04") { trial throws(Unjudged) in
            var seen = false
            for scenario in [ConformanceRule.Scenario.succeeds, .hangs] {
                // `try?` because a manifest without a URL that hangs has others.
                guard let loads = try? trial.loads(scenario) else { continue }
                let instance = try trial.instance()
                for load in loads {
                    let request = try trial.request(load.url)
                    guard let record = try trial.stopped(request, of: instance, atEvent: 0, Trial.script(for: load)) else {
                        if trial.hasFailedInStop(load, of: instance) { return }
                        continue
                    }
                    for turn in record.turnTimes where turn.function == .stop {
                        seen = true
                        if turn.time > .milliseconds(100) { trial.fail("'\(load.url)': stop returned after \(Words.time(turn.time))") }
                    }
                }
                if trial.areAllIdle { instance.end() }
            }
            // … while it is paused, or waits for an answer.
            for isAsked in [false, true] {
                // `try?` because a manifest without one has others.
                guard let loads = try? trial.loads(isAsked ? .challenges : .succeeds) else { continue }
                let instance = try trial.instance()
                for load in loads {
                    var script = Trial.script(for: load)
                    (script.pauses, script.pauseTime) = (isAsked ? .none : .first, nil)
                    if isAsked { script.decision = .never }
                    let made = try trial.make(trial.request(load.url), of: instance, script)
                    try made.start()
                    _ = made.client.waitUntilHeld(atMost: trial.shortPatience)
                    made.stop()
                    guard let record = trial.settled(made, within: trial.shortPatience) else {
                        if trial.hasFailedInStop(load, of: instance) { return }
                        continue
                    }
                    for turn in record.turnTimes where turn.function == .stop {
                        seen = true
                        guard turn.time > .milliseconds(100) else { continue }
                        trial.fail("'\(load.url)', \(isAsked ? "asked" : "paused"): stop returned after \(Words.time(turn.time))")
                    }
                }
                if trial.areAllIdle { instance.end() }
            }
            if !seen { throw Unjudged("it does not apply: no load has a function stop") }
        },
        ConformanceCheck("CANCEL-05", needsProcess: true) { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds, and: [.challenges, .uploads, .hangs]) { load, _, instance throws(Unjudged) in
                let (request, script) = try trial.scene(load)
                let time = load.tags.contains(.hangs) ? Duration.milliseconds(10) : nil
                _ = try trial.stopped(request, of: instance, atEvent: 64, orAfter: time, script)
                let left = try ProcessCensus.leftBehind(within: .seconds(1)) { () throws(Unjudged) in
                    for index in [0, 1, 0, 1, 0, 1] {
                        guard try trial.stopped(request, of: instance, atEvent: index, orAfter: time, script) != nil else {
                            throw Unjudged("'\(load.url)' did not come to rest after a stop (CANCEL-04, ORDER-07)")
                        }
                    }
                    guard load.tags.contains(.challenges) else { return }
                    guard try trial.stoppedWaiting(request, of: instance, script) != nil else {
                        throw Unjudged("'\(load.url)' did not come to rest after a stop while it was asked (CANCEL-06)")
                    }
                }
                trial.fail(left.map { "'\(load.url)', stopped at an event: \($0)" })
            }
        },
        ConformanceCheck("CANCEL-06") { trial throws(Unjudged) in
            try trial.eachLoad(.challenges) { load, request, instance throws(Unjudged) in
                var script = Trial.script(for: load)
                script.decision = .never
                guard try trial.expectRest(load, request, of: instance, script, waitingIn: "did_receive_challenge") else {
                    throw Unjudged.other("'\(load.url)' asked nothing")
                }
            }
        },
        ConformanceCheck("CANCEL-07") { trial throws(Unjudged) in
            try trial.eachLoad(.uploads) { load, _, instance throws(Unjudged) in
                let (request, plain) = try trial.upload(load, Trial.pieces, length: nil)
                var script = plain
                script.bodySource = .silent
                guard try trial.expectRest(load, request, of: instance, script, waitingIn: "read_body") else {
                    throw Unjudged.other("'\(load.url)' does not read its upload body")
                }
            }
        },
        ConformanceCheck("CANCEL-09") { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                let known = try trial.known(load, request, of: instance)
                let other = try trial.make(request, of: instance, known.script)
                _ = try trial.stopped(request, of: instance, atEvent: 0, known.script)
                try other.start()
                trial.expectSame(trial.settled(other, within: trial.patience), as: known, "where another load of it was stopped")
                guard !other.handler.description.isBlocking else { return }
                let held = try trial.held(request, of: instance, load)
                let beside = try trial.make(request, of: instance, known.script)
                held.stop()
                _ = trial.settled(held, within: trial.shortPatience)
                try beside.start()
                trial.expectSame(
                    trial.settled(beside, within: trial.patience), as: known, "where another load of it was stopped in a pause")
            }
        },
    ]
}

extension Trial {
    /// During which of the first calls of a blocking load's client a stop on another thread does not return.
    func functionThatHoldsUpStop(of load: ConformanceLoad, _ request: Request, _ instance: JudgedInstance) throws(Unjudged) -> String? {
        let slot = Mutex<JudgedLoad?>(nil)
        let returned = Monitor<Bool?>(nil)
        let stuck = Mutex<String?>(nil)
        defer { slot.withLock { $0 = nil } }
        for index in 0..<3 {
            var script = Self.script(for: load)
            script.whileDelivering = { event, call in
                guard event == index, !call.isEnd, let made = slot.withLock({ $0 }) else { return }
                returned.withLock { $0 = nil }
                if made.stopsElsewhere(returned) { stuck.withLock { $0 = call.function } }
            }
            let made = try make(request, of: instance, script)
            slot.withLock { $0 = made }
            try made.start()
            _ = settled(made, within: patience)
            if let function = stuck.withLock({ $0 }) { return function }
        }
        return nil
    }

    /// Fails where a load that did not come to rest is in its function stop.
    ///
    /// - Returns: whether it is. Where it is not, its coming to rest late is another rule's.
    fileprivate func hasFailedInStop(_ load: ConformanceLoad, of instance: JudgedInstance) -> Bool {
        guard JournalLine.place(after: instance.journal.lines) == " in stop" else { return false }
        fail("'\(load.url)': stop had not returned after \(Words.time(shortPatience))")
        return true
    }

    /// Fails where a load that waits in a call of the client's does not come to rest within a second of a stop, or ends itself afterwards.
    ///
    /// - Returns: whether it came to wait there.
    fileprivate func expectRest(
        _ load: ConformanceLoad, _ request: Request, of instance: JudgedInstance, _ script: ClientScript, waitingIn function: String
    ) throws(Unjudged) -> Bool {
        let made = try make(request, of: instance, script)
        try made.start()
        _ = made.client.waitUntilHeld(atMost: patience)
        let isWaiting = made.client.state.withLock(\.isWaiting)
        made.stop()
        guard let record = settled(made, within: .seconds(1)) else {
            fail("'\(load.url)' went on for a second after a stop that came while \(function) waited")
            return true
        }
        guard isWaiting else { return false }
        if let late = record.toldAfterStop.first {
            fail("'\(load.url)': \(late.call.function) came after a stop while \(function) waited")
        }
        return true
    }
}
