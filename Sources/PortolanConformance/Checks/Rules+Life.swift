// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import Synchronization

/// LIFE: from the creation of a load to its destruction.
extension RuleCatalogue {
    static let life: [CheckedRule] = [
        .must(
            "LIFE-01", level: 2, isEnforced: true, needs: .any,
            "'make' emits no event.",
            because: "Nothing receives events before the load has started.",
            remedy: "Store what 'make' finds, and report it after the load has started. Or refuse the request."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.loads(.any) {
                let probedLoad = try context.make(context.request(load.url), of: instance)
                Polling.sleep(.milliseconds(5))
                for event in probedLoad.record.events {
                    context.fail("'\(load.url)': \(event.call.function) was called while the load was being made")
                }
                probedLoad.destroy()
            }
            instance.end()
        },
        .must(
            "LIFE-02", level: 2, needs: .any,
            "Every load of a URL of the conformance section ends within its time limit.",
            because: "If a load does not end, the program waits forever.",
            remedy: "End each path with did_finish, did_fail or a redirect."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.everyLoad() where load.isLoadable && !load.tags.contains(.hangs) {
                let probedLoad = try context.make(context.request(load.url), of: instance, CheckContext.script(for: load))
                try probedLoad.start()
                if context.recordWhenIdle(probedLoad, within: context.loadTimeLimit) == nil {
                    context.hungLoads.insert(load.url, of: context.target.loads)
                    context.fail(
                        "'\(load.url)' did not end within \(ValueFormatting.time(context.loadTimeLimit)): \(probedLoad.record.summary)")
                }
            }
            if context.areAllLoadsIdle { instance.end() }
        },
        .must(
            "LIFE-03", level: 2, needs: .any,
            "'make' returns within 50 ms, and so do 'start', 'resume', 'woken' and 'answered' of an event-driven load.",
            because: "These functions run on threads that other loads need.",
            remedy: "Do slow work in 'run' of a blocking load, or on your own thread, and call 'wake'."
        ) { context throws(CheckSkipped) in
            func checkTimes(_ load: ConformanceLoad, _ record: LoadRecord) {
                for callTime in record.callTimes where callTime.function != .run {
                    if callTime.duration > .milliseconds(50) {
                        context.fail(
                            "'\(load.url)': \(callTime.function.rawValue) returned after \(ValueFormatting.time(callTime.duration))")
                    }
                }
            }
            try context.eachRecord(.any) { load, record in checkTimes(load, record) }
            // Also performs loads that are paused at each delivery, with late decisions.
            try context.eachLoad(.any) { load, request, instance throws(CheckSkipped) in
                var script = CheckContext.script(for: load)
                (script.pauses, script.decision) = (.each, .later)
                let probedLoad = try context.make(request, of: instance, script)
                try probedLoad.start()
                if let record = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit) { checkTimes(load, record) }
            }
        },
        .must(
            "LIFE-04", level: 3, isEnforced: true, needs: .any,
            "A load that is stopped before its start never emits an event.",
            because: "The caller already knows that the load is over.",
            remedy: "Do no work before 'run' or 'start' is called."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.loads(.any) {
                let probedLoad = try context.make(context.request(load.url), of: instance)
                probedLoad.stop()
                Polling.sleep(.milliseconds(10))
                probedLoad.destroy()
                // LIFE-01 reports events during `make`.
                for event in probedLoad.record.events where event.within != .make {
                    context.fail("'\(load.url)': \(event.call.function) was called, although the load was stopped before its start")
                }
            }
            instance.end()
        },
        .must(
            "LIFE-05", level: 3, needs: .succeeds,
            "A stop that arrives while 'run' is about to return causes no crash and no hang.",
            because: "The host cannot know that 'run' is about to return.",
            remedy: "Keep the memory that 'stop' uses until 'destroy'."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            var hasChecked = false
            for load in try context.loads(.succeeds) {
                let slot = Mutex<ProbedLoad?>(nil)
                let returned = ConditionLock<Bool?>(nil)
                var script = CheckContext.script(for: load)
                script.whileDelivering = { _, call in
                    guard call == .finish, let probedLoad = slot.withLock({ $0 }) else { return }
                    let isStopLate = probedLoad.stopOnOtherThread(returned)
                    if isStopLate { returned.withLockBroadcasting { $0 = $0 ?? false } }
                }
                let probedLoad = try context.make(context.request(load.url), of: instance, script)
                guard probedLoad.handler.description.isBlocking else {
                    probedLoad.destroy()
                    continue
                }
                hasChecked = true
                slot.withLock { $0 = probedLoad }
                try probedLoad.start()
                guard probedLoad.waitUntilIdle(context.loadTimeLimit) else {
                    guard probedLoad.record.didFinish else { throw CheckSkipped("'\(load.url)' did not end (LIFE-02)") }
                    context.fail("'\(load.url)': run did not return after a stop that came while it was finishing")
                    continue
                }
                if returned.withLock({ $0 }) == false { context.fail("'\(load.url)': a stop during did_finish did not return") }
                probedLoad.destroy()
                slot.withLock { $0 = nil }
                // Also stops a load between did_finish and the return of run.
                let second = try context.make(context.request(load.url), of: instance, CheckContext.script(for: load))
                try second.start()
                _ = second.client.state.wait(atMost: context.loadTimeLimit) { $0.hasEnded ? true : nil }
                second.stop(evenAfterEnd: true)
                _ = context.recordWhenIdle(second, within: context.loadTimeLimit)
            }
            instance.end()
            if !hasChecked { throw CheckSkipped("it does not apply: its loads do not block") }
        },
        .must(
            "LIFE-06", level: 3, needs: .hangs,
            "If 'run' waits in a system call, a stop ends that wait.",
            because: "The thread belongs to the host, which has only a few.",
            remedy: "Provide a stop function that shuts the socket down or writes to a pipe."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.loads(.hangs) {
                let probedLoad = try context.make(context.request(load.url), of: instance, CheckContext.script(for: load))
                try probedLoad.start()
                Polling.sleep(.milliseconds(50))
                if probedLoad.waitUntilIdle(.zero) { throw CheckSkipped("'\(load.url)' is tagged hangs, but ended by itself") }
                probedLoad.stop()
                if probedLoad.waitUntilIdle(.seconds(1)) {
                    probedLoad.destroy()
                } else {
                    context.fail("'\(load.url)' was still waiting one second after it was stopped")
                }
            }
        },
        .must(
            "LIFE-07", level: 3, needs: .any,
            "destroy without a start, destroy right after a stop, and a 'make' that refuses leak no memory, thread or file descriptor.",
            because: "Callers often cancel a load early.",
            remedy: "Free everything in 'destroy' and nowhere else, whatever happened before.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let loads = try context.loads(.any)
            let requests = try loads.map { load throws(CheckSkipped) in (try context.request(load.url), CheckContext.script(for: load)) }
            var refusableRequests: [Request] = []
            var handlers: Set<ReadText> = []
            for load in loads {
                // `make` can refuse the URL of a missing resource. `try?` because a text that is no URL never reaches a
                // plugin.
                guard let request = try? context.request(load.url + "/%FF?judge"),
                    let handler = try context.handler(for: request, of: instance)
                else { continue }
                refusableRequests.append(request)
                // It can also refuse a malformed escape in any part of a URL. One URL of each handler is enough,
                // because the heap is measured over many rounds.
                guard handlers.insert(handler.description.identifier).inserted else { continue }
                for url in MalformedURLSamples.withBrokenEscapes(load.url) {
                    guard let request = try? context.request(url), try context.handler(for: request, of: instance) != nil else { continue }
                    refusableRequests.append(request)
                }
            }
            func cycle(_ startsLoads: Bool) throws(CheckSkipped) {
                try context.checkDeadline()
                for (request, script) in requests {
                    let probedLoad = try context.make(request, of: instance, script)
                    if startsLoads { try probedLoad.start() }
                    probedLoad.stop()
                    guard probedLoad.waitUntilIdle(context.stopTimeLimit) else {
                        throw CheckSkipped("\(request.url.shortDescription) did not end after a stop (LIFE-06)")
                    }
                    probedLoad.destroy()
                }
                guard !startsLoads else { return }
                for request in refusableRequests { try context.make(request, of: instance, ClientScript()).destroy() }
            }
            try context.followAll(loads, of: instance)
            func expectNothingLeft(by what: String, startsLoads: Bool) throws(CheckSkipped) {
                let leftovers = try ProcessResources.leftBehind(within: .seconds(3)) { () throws(CheckSkipped) in
                    for _ in 0..<4 { try cycle(startsLoads) }
                }
                context.fail(leftovers.map { "loads that were \(what): \($0)" })
            }
            try expectNothingLeft(by: "destroyed without a start, or refused", startsLoads: false)
            // This check measures the heap only for loads that were not started. LEAK-05 measures the heap for started
            // loads, which takes many rounds because of the caches of their threads.
            let keptCount = instance.keepAll()
            var noTime: CheckSkipped?
            do throws(CheckSkipped) {
                var growth = try CheckContext.heapGrowth(within: context.loadTimeLimit) { () throws(CheckSkipped) in
                    try cycle(false)
                } afterFirst: {
                    instance.keepFew(since: keptCount)
                }
                // After 1000 more loads, even a table that grows in steps has its final size. A cycle makes each URL's
                // load once.
                if growth != nil {
                    for _ in 0..<max(50, 1000 / (requests.count + refusableRequests.count)) { try cycle(false) }
                    growth = try CheckContext.heapGrowth(within: context.loadTimeLimit) { () throws(CheckSkipped) in try cycle(false) }
                }
                if let growth {
                    let what = "\(growth.loadsPerRound) loads of each URL, destroyed without a start, or refused,"
                    context.fail("each of \(growth.rounds) rounds of \(what) left \(growth.phrase)")
                }
            } catch {
                noTime = error
            }
            // The threads of these loads need most of the time on a busy machine.
            try expectNothingLeft(by: "destroyed right after a stop", startsLoads: true)
            instance.end()
            if let noTime { throw noTime }
        },
        .must(
            "LIFE-08", level: 3, needs: .succeeds,
            "The load does not use the request, the stored response or the client after 'destroy' has returned.",
            because: "The host reuses their memory for the next load.",
            remedy: "In 'destroy', join every thread that uses them."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let loads = try context.loads(.succeeds)
            for isStopped in [false, true] {
                for load in loads + loads {
                    var script = CheckContext.script(for: load)
                    // Delays the first event, so that the stop comes while the load is running.
                    if isStopped { script.whileDelivering = { index, _ in if index == 0 { Polling.sleep(.milliseconds(10)) } } }
                    let probedLoad = try context.make(context.request(load.url), of: instance, script)
                    try probedLoad.start()
                    if isStopped {
                        Polling.sleep(.milliseconds(3))
                        probedLoad.stop()
                    }
                    guard probedLoad.waitUntilIdle(context.loadTimeLimit) else {
                        throw CheckSkipped("'\(load.url)' did not end (\(isStopped ? "ORDER-07" : "LIFE-02"))")
                    }
                    probedLoad.destroy(poisoning: true)
                    Polling.sleep(.milliseconds(20))
                }
            }
            // A thread that was not joined can use the memory later.
            Polling.sleep(.milliseconds(100))
            instance.end()
        },
        .must(
            "LIFE-09", level: 3, needs: .succeeds,
            "A second load of the same URL, made while the first runs, does not depend on the first.",
            because: "Two parts of a program may load the same URL.",
            remedy: "Keep the state of a load in that load."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.loads(.succeeds) {
                let request = try context.request(load.url)
                let usualBody = try context.perform(request, of: instance, CheckContext.script(for: load)).body
                // The second load starts at the response of the first, and then at its next events.
                for eventIndex in 0..<3 {
                    var script = CheckContext.script(for: load)
                    let second = try context.make(request, of: instance, script)
                    let loadTimeLimit = context.loadTimeLimit
                    script.whileDelivering = { index, _ in
                        guard index == eventIndex else { return }
                        // `try?` because this closure cannot throw. A load that does not start has no body, which the
                        // comparison below notices.
                        try? second.start()
                        _ = second.waitUntilIdle(loadTimeLimit)
                    }
                    let first = try context.perform(request, of: instance, script)
                    guard second.waitUntilIdle(.zero) else {
                        context.fail("'\(load.url)': a second load, made while the first ran, did not end")
                        break
                    }
                    second.destroy()
                    guard first.events.count > eventIndex else { break }
                    if first.body != usualBody || second.record.body != usualBody, context.varies(load) { break }
                    if first.body != usualBody { context.fail("'\(load.url)' gave different bytes while a second load of it ran") }
                    if second.record.body != usualBody {
                        context.fail("'\(load.url)', loaded while a first load of it ran, gave different bytes")
                    }
                }
            }
            instance.end()
        },
        .must(
            "LIFE-10", level: 2, needs: .succeeds,
            "If a load has ended, the next load of the same URL has the same result.",
            because: "Only the next load shows what an earlier load left behind.",
            remedy: "Reset what a load used, or do not keep it."
        ) { context throws(CheckSkipped) in
            let stableLoads = try context.loads(.succeeds).filter { $0.sha256 != nil }
            guard !stableLoads.isEmpty else { throw CheckSkipped("the manifest states no digest, so no URL is known to be stable") }
            let instance = try context.instance()
            for load in stableLoads {
                let records = try (0..<4).map { _ throws(CheckSkipped) in
                    try context.perform(context.request(load.url), of: instance, CheckContext.script(for: load))
                }
                let isStable = Set(records.map { LoadResult($0) }).count == 1 && Set(records.map(\.responsesWithoutFields)).count == 1
                if !isStable { context.fail("four loads of '\(load.url)', one after another, did not have the same result") }
            }
            // A wrong password must affect only its own load.
            for load in (try? context.loads(.challenges)) ?? [] where load.credential != nil {  // because there can be none
                let request = try context.request(load.url)
                let baseline = try context.baseline(load, request, of: instance)
                var script = baseline.script
                script.answer = { $0 < 3 ? CheckContext.wrongAnswer : .cancel }
                _ = try context.perform(request, of: instance, script)
                let record = try context.recordWhenIdle(request, of: instance, baseline.script)
                // Only a URL with a digest is known to have the same bytes each time.
                if let record, load.sha256 == nil {
                    if record.didFinish != baseline.result.didFinish {
                        context.fail("'\(load.url)' gave \(LoadResult(record).phrase) after a load with wrong passwords")
                    }
                } else {
                    context.expectSame(record, as: baseline, "after a load with wrong passwords")
                }
            }
            if context.areAllLoadsIdle { instance.end() }
        },
        .must(
            "LIFE-11", level: 3, needs: .succeeds,
            "destroy returns within a second. After that, no thread of the load can call the client.",
            because: "The host then frees the client.",
            remedy: "Wake and join the load's threads in destroy. Do not wait for a peer."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            for load in try context.loads(.any) {
                let probedLoad = try context.make(context.request(load.url), of: instance, CheckContext.script(for: load))
                try probedLoad.start()
                guard probedLoad.waitUntilIdle(context.loadTimeLimit) else { throw CheckSkipped("'\(load.url)' did not end (LIFE-02)") }
                let time = probedLoad.destroy()
                if time > .seconds(1) { context.fail("'\(load.url)': destroy returned after \(ValueFormatting.time(time))") }
            }
            // Also destroys loads that were stopped while they ran, or while a challenge waited.
            for load in try context.loads(.any) {
                let isChallenged = load.tags.contains(.challenges)
                var script = CheckContext.script(for: load)
                if isChallenged { script.decision = .never }
                script.whileDelivering = { index, _ in if index == 0, !isChallenged { Polling.sleep(.milliseconds(10)) } }
                let probedLoad = try context.make(context.request(load.url), of: instance, script)
                try probedLoad.start()
                Polling.sleep(.milliseconds(isChallenged ? 20 : 3))
                probedLoad.stop()
                guard probedLoad.waitUntilIdle(context.stopTimeLimit) else {
                    throw CheckSkipped("'\(load.url)' was still running after a stop (CANCEL-04)")
                }
                let time = probedLoad.destroy()
                if time > .seconds(1) {
                    context.fail("'\(load.url)': destroy of a stopped load returned after \(ValueFormatting.time(time))")
                }
            }
            instance.end()
        },
        .must(
            "LIFE-12", level: 3, needs: .any,
            "The plugin writes to no const argument: not to a request or what it points to, and not to the configuration of init.",
            because: "The host and other loads read the same memory.",
            remedy: "Copy what you want to change."
        ) { context throws(CheckSkipped) in
            // A write crashes this process, and the runner reports the crash. If the plugin handles SIGSEGV and
            // continues, `constViolations` names the argument.
            context.argumentMemory = .readOnly
            defer { context.fail(context.instanceContext.constViolations.all.map { "\($0) was written to, or made writable" }) }
            try context.eachRecord(.any) { _, _ in }
        },
    ]
}

extension ProbedLoad {
    /// Stops the load on another thread, and waits until the stop returns, but at most one second.
    ///
    /// - Parameter returned: `nil` before the call; receives `true` when the stop returns.
    /// - Returns: Whether the stop did not return within a second.
    func stopOnOtherThread(_ returned: ConditionLock<Bool?>) -> Bool {
        // `try?` because an error cannot leave this function. If no thread can be created, nothing is stopped.
        try? PlatformThread.start { [self] in
            stop()
            returned.withLockBroadcasting { $0 = true }
        }
        return returned.waitForProcessorTime(atMost: .seconds(1)) { $0 } == nil
    }
}

extension LoadRecord {
    /// The responses without their fields, because fields can contain a date or a number of the request.
    fileprivate var responsesWithoutFields: [ReadStruct<ReadResponse>] {
        responses.map { response in
            guard var value = response.value else { return response }
            value.fields = []
            return .whole(value)
        }
    }
}
