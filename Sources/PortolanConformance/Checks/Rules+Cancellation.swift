// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import Synchronization

/// CANCEL: loads that are stopped.
extension RuleCatalogue {
    static let cancellation: [CheckedRule] = [
        .must(
            "CANCEL-01", level: 3, isEnforced: true, needs: .succeeds,
            "A load that is stopped at any of its events emits no event after 'stop' has returned.",
            because: "The caller may have freed the object that receives events.",
            remedy: "Check what each client call returns, and deliver nothing from 'stop'."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                let count = try context.perform(request, of: instance, CheckContext.script(for: load)).events.count
                for index in 0..<min(count, 8) {
                    guard
                        let record = try context.recordOfStoppedLoad(request, of: instance, atEvent: index, CheckContext.script(for: load))
                    else {
                        throw CheckSkipped("'\(load.url)' was still running after a stop (CANCEL-04)")
                    }
                    guard let lateEvent = record.eventsAfterStop.first else { continue }
                    let place = lateEvent.within == .stop ? "from within stop" : "after stop had returned"
                    context.fail("'\(load.url)', stopped at event \(index + 1): \(lateEvent.call.function) was called \(place)")
                }
            }
        },
        .must(
            "CANCEL-02", level: 4, needs: .succeeds,
            "A stop at any moment between events causes no crash and no hang.",
            because: "Users can press Ctrl-C at any time.",
            remedy: "Protect the data that 'stop' shares with the load."
        ) { context throws(CheckSkipped) in
            var random = SplitMix(seed: context.seed)
            try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                let start = MonotonicTime.now
                _ = try context.perform(request, of: instance, CheckContext.script(for: load))
                // The time that the load takes, but at least 4 ms and at most 50 ms.
                let longestMicroseconds = min(max(MonotonicTime.now - start, .milliseconds(4)), .milliseconds(50)) / .microseconds(1)
                for _ in 0..<32 {
                    let probedLoad = try context.make(request, of: instance, CheckContext.script(for: load))
                    try probedLoad.start()
                    Polling.sleep(.microseconds(Int64(random.next() % UInt64(longestMicroseconds))))
                    probedLoad.stop()
                    if context.recordWhenIdle(probedLoad, within: .seconds(1)) == nil {
                        return context.fail("'\(load.url)' was still running one second after a stop between two events")
                    }
                }
            }
        },
        .must(
            "CANCEL-03", level: 3, needs: .succeeds,
            "A stop from another thread during an event causes no deadlock.",
            because: "The reader may wait for the thread that calls 'stop'.",
            remedy: "Hold no lock while you call the client."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds, isBlocking: true) { load, request, instance throws(CheckSkipped) in
                guard let function = try context.functionThatBlocksStop(of: load, request, instance) else { return }
                context.fail("'\(load.url)': a stop on another thread did not return within a second while \(function) ran")
            }
        },
        .must(
            "CANCEL-04", level: 3, needs: .succeeds,
            "'stop' returns within 100 ms.",
            because: "The close button of a window waits for 'stop'.",
            remedy: "Set a flag, wake the load, and wait for nothing."
        ) { context throws(CheckSkipped) in
            var hasStopFunction = false
            for scenario in [ConformanceRule.Scenario.succeeds, .hangs] {
                // `try?` because a manifest without a URL that hangs may have others.
                guard let loads = try? context.loads(scenario) else { continue }
                let instance = try context.instance()
                for load in loads {
                    let request = try context.request(load.url)
                    guard let record = try context.recordOfStoppedLoad(request, of: instance, atEvent: 0, CheckContext.script(for: load))
                    else {
                        if context.failIfInStop(load, of: instance) { return }
                        continue
                    }
                    for callTime in record.callTimes where callTime.function == .stop {
                        hasStopFunction = true
                        if callTime.duration > .milliseconds(100) {
                            context.fail("'\(load.url)': stop returned after \(ValueFormatting.time(callTime.duration))")
                        }
                    }
                }
                if context.areAllLoadsIdle { instance.end() }
            }
            // Also stops loads that are paused, or wait for an answer to a challenge.
            for waitsForAnswer in [false, true] {
                // `try?` because a manifest without such a URL may have others.
                guard let loads = try? context.loads(waitsForAnswer ? .challenges : .succeeds) else { continue }
                let instance = try context.instance()
                for load in loads {
                    var script = CheckContext.script(for: load)
                    (script.pauses, script.pauseTime) = (waitsForAnswer ? .none : .first, nil)
                    if waitsForAnswer { script.decision = .never }
                    let probedLoad = try context.make(context.request(load.url), of: instance, script)
                    try probedLoad.start()
                    _ = probedLoad.client.waitUntilHeld(atMost: context.stopTimeLimit)
                    probedLoad.stop()
                    guard let record = context.recordWhenIdle(probedLoad, within: context.stopTimeLimit) else {
                        if context.failIfInStop(load, of: instance) { return }
                        continue
                    }
                    for callTime in record.callTimes where callTime.function == .stop {
                        hasStopFunction = true
                        guard callTime.duration > .milliseconds(100) else { continue }
                        context.fail(
                            "'\(load.url)', \(waitsForAnswer ? "challenged" : "paused"): stop returned after \(ValueFormatting.time(callTime.duration))"
                        )
                    }
                }
                if context.areAllLoadsIdle { instance.end() }
            }
            if !hasStopFunction { throw CheckSkipped("it does not apply: no load has a function stop") }
        },
        .must(
            "CANCEL-05", level: 3, needs: .succeeds,
            "Within a second after a stop, the load's threads have ended and its file descriptors are closed.",
            because: "A hundred cancelled loads would exhaust a process.",
            remedy: "Close them in 'stop' or 'destroy'.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let busyThreadsBefore = ProcessResources.busyThreadsOfHost
            // A handler of this process can be a binding, whose calls of the C library run on threads of the host.
            func callsEnd(within limit: Duration) -> Bool {
                context.target.library != nil
                    || Polling.result(within: limit) {
                        ProcessResources.busyThreadsOfHost <= busyThreadsBefore ? .done(true) : .notYet(false)
                    }
            }
            try context.eachLoad(.succeeds, and: [.challenges, .uploads, .hangs]) { load, _, instance throws(CheckSkipped) in
                let (request, script) = try context.requestAndScript(load)
                let time = load.tags.contains(.hangs) ? Duration.milliseconds(10) : nil
                guard callsEnd(within: context.loadTimeLimit) else { throw CheckSkipped("code of an earlier load still runs") }
                _ = try context.recordOfStoppedLoad(request, of: instance, atEvent: 64, orAfter: time, script)
                let leftovers = try ProcessResources.leftBehind(within: .seconds(1)) { () throws(CheckSkipped) in
                    for index in [0, 1, 0, 1, 0, 1] {
                        guard try context.recordOfStoppedLoad(request, of: instance, atEvent: index, orAfter: time, script) != nil else {
                            throw CheckSkipped("'\(load.url)' was still running after a stop (CANCEL-04)")
                        }
                    }
                    guard load.tags.contains(.challenges) else { return }
                    guard try context.recordStoppedInChallenge(request, of: instance, script) != nil else {
                        throw CheckSkipped("'\(load.url)' was still running after a stop during a challenge (CANCEL-06)")
                    }
                }
                if callsEnd(within: .seconds(1)) {
                    context.fail(leftovers.map { "'\(load.url)', stopped at an event: \($0)" })
                } else {
                    context.fail(
                        "'\(load.url)': one second after a stop, a thread of the host still ran code of the load",
                        remedy: context.target.manifest?.manifest.bindsLibrary == true
                            ? "Say in 'stop' of the manifest how a call that blocks ends." : nil)
                }
            }
        },
        .must(
            "CANCEL-06", level: 3, needs: .challenges,
            "A stop ends a load that waits for the response to a challenge.",
            because: "Users may close the password window.",
            remedy: "Return when did_receive_challenge returns PORTOLAN_STOPPED."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.challenges) { load, request, instance throws(CheckSkipped) in
                var script = CheckContext.script(for: load)
                script.decision = .never
                guard try context.expectIdleAfterStop(load, request, of: instance, script, waitingIn: "did_receive_challenge") else {
                    throw CheckSkipped.notApplicable("'\(load.url)' sent no challenge")
                }
            }
        },
        .must(
            "CANCEL-07", level: 3, needs: .uploads,
            "A stop ends a load that waits for the upload body.",
            because: "Uploads are the longest loads.",
            remedy: "Return when read_body returns PORTOLAN_STOPPED."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.uploads) { load, _, instance throws(CheckSkipped) in
                let (request, plain) = try context.upload(load, CheckContext.pieces, length: nil)
                var script = plain
                script.bodySource = .silent
                guard try context.expectIdleAfterStop(load, request, of: instance, script, waitingIn: "read_body") else {
                    throw CheckSkipped.notApplicable("'\(load.url)' does not read its upload body")
                }
            }
        },
        .must(
            "CANCEL-08", level: 3, needs: .nested,
            "A stop also ends the nested load.",
            because: "Otherwise the peer of the nested load continues to send.",
            remedy: "Return. The host closes the nested load."
        ) { context throws(CheckSkipped) in
            try context.eachNested(.silent) { load, probedLoad throws(CheckSkipped) in
                let hasOpened = probedLoad.client.state.wait(atMost: context.loadTimeLimit) {
                    $0.nested.isEmpty && !$0.hasEnded ? nil : !$0.nested.isEmpty
                }
                probedLoad.stop()
                let isIdle = context.recordWhenIdle(probedLoad, within: .seconds(1)) != nil
                guard hasOpened == true else { throw CheckSkipped("'\(load.url)' opened no nested load (NEST-01)") }
                if !isIdle {
                    context.fail("'\(load.url)' was still running one second after a stop that came while its nested load had no data yet")
                }
            }
        },
        .must(
            "CANCEL-09", level: 3, needs: .succeeds,
            "Stopping one load does not affect other loads.",
            because: "Other loads belong to other callers.",
            remedy: "Store the stop flag in the load."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                let baseline = try context.baseline(load, request, of: instance)
                let other = try context.make(request, of: instance, baseline.script)
                _ = try context.recordOfStoppedLoad(request, of: instance, atEvent: 0, baseline.script)
                try other.start()
                context.expectSame(
                    context.recordWhenIdle(other, within: context.loadTimeLimit), as: baseline, "when another load of it was stopped")
                guard !other.handler.description.isBlocking else { return }
                let pausedLoad = try context.pausedLoad(request, of: instance, load)
                let loadBesidePausedOne = try context.make(request, of: instance, baseline.script)
                pausedLoad.stop()
                _ = context.recordWhenIdle(pausedLoad, within: context.stopTimeLimit)
                try loadBesidePausedOne.start()
                context.expectSame(
                    context.recordWhenIdle(loadBesidePausedOne, within: context.loadTimeLimit), as: baseline,
                    "when another load of it was stopped in a pause")
            }
        },
    ]
}

extension CheckContext {
    /// Stops a blocking load on another thread during each of its first three client calls. Returns the name of a
    /// client call during which the stop did not return; `nil` if there is none.
    func functionThatBlocksStop(of load: ConformanceLoad, _ request: Request, _ instance: ProbedInstance) throws(CheckSkipped) -> String? {
        let slot = Mutex<ProbedLoad?>(nil)
        let returned = ConditionLock<Bool?>(nil)
        let blockedFunction = Mutex<String?>(nil)
        defer { slot.withLock { $0 = nil } }
        for index in 0..<3 {
            var script = Self.script(for: load)
            script.whileDelivering = { event, call in
                guard event == index, !call.isEnd, let probedLoad = slot.withLock({ $0 }) else { return }
                returned.withLock { $0 = nil }
                if probedLoad.stopOnOtherThread(returned) { blockedFunction.withLock { $0 = call.function } }
            }
            let probedLoad = try make(request, of: instance, script)
            slot.withLock { $0 = probedLoad }
            try probedLoad.start()
            _ = recordWhenIdle(probedLoad, within: loadTimeLimit)
            if let function = blockedFunction.withLock({ $0 }) { return function }
        }
        return nil
    }

    /// Reports a finding if a load that did not end is in its function `stop`.
    ///
    /// - Returns: Whether the load is in `stop`. If not, another rule reports that the load does not end.
    fileprivate func failIfInStop(_ load: ConformanceLoad, of instance: ProbedInstance) -> Bool {
        guard CallLogEntry.place(after: instance.callLog.lines) == " in stop" else { return false }
        fail("'\(load.url)': stop had not returned after \(ValueFormatting.time(stopTimeLimit))")
        return true
    }

    /// Stops a load that waits in a client call. Reports a finding if the load is not idle within a second, or sends an
    /// event afterwards.
    ///
    /// - Returns: Whether the load waited in a client call before the stop.
    fileprivate func expectIdleAfterStop(
        _ load: ConformanceLoad, _ request: Request, of instance: ProbedInstance, _ script: ClientScript, waitingIn function: String
    ) throws(CheckSkipped) -> Bool {
        let probedLoad = try make(request, of: instance, script)
        try probedLoad.start()
        _ = probedLoad.client.waitUntilHeld(atMost: loadTimeLimit)
        let isWaiting = probedLoad.client.state.withLock(\.isWaiting)
        probedLoad.stop()
        guard let record = recordWhenIdle(probedLoad, within: .seconds(1)) else {
            fail("'\(load.url)' was still running one second after a stop that came while \(function) waited")
            return true
        }
        guard isWaiting else { return false }
        if let lateEvent = record.eventsAfterStop.first {
            fail("'\(load.url)': \(lateEvent.call.function) was called after a stop that came while \(function) waited")
        }
        return true
    }
}
