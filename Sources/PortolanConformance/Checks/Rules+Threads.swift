// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanPlugins
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// THREAD: several threads, and several loads.
extension RuleCatalogue {
    static let threads: [CheckedRule] = [
        .must(
            "THREAD-01", level: 3, isEnforced: true, needs: .succeeds,
            "The client is called only from inside a call into the load, or on the load-thread. The plugin's own threads only call 'wake'.",
            because: "Otherwise events overlap, or come after the end.",
            remedy: "Call 'wake' from your own threads, and deliver in 'woken'.",
            check: eachLoad { record in
                let callOutsideLoad = record.calls.first { $0.within == nil && !$0.call.isAllowedOnAnyThread && $0.stage < .destroyed }
                return callOutsideLoad.map { ["\($0.call.function) was called on a thread that was not inside a call into the load"] } ?? []
            }),
        .must(
            "THREAD-02", level: 3, needs: .succeeds,
            "A load may be made on one thread, started on a second, resumed on a third and stopped on a fourth.",
            because: "The host uses any thread that is free.",
            remedy: "Keep no state of a load in thread-local memory."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                var script = CheckContext.script(for: load)
                script.pauses = .each
                // First checks whether the load ends at all. Then performs the load on one thread.
                _ = try context.perform(request, of: instance, script)
                let expected = LoadResult(try context.performOnThisThread(request, of: instance, script))
                script.changesThreads = true
                guard let record = try context.recordWhenIdle(request, of: instance, script) else {
                    return context.fail("'\(load.url)' did not end when each call into it came on another thread")
                }
                let result = LoadResult(record)
                if result != expected, !context.varies(load) {
                    context.fail(
                        "'\(load.url)' gave \(result.phrase) when each call into it came on another thread, but \(expected.phrase) otherwise"
                    )
                }
            }
            // Compares only the ends of other loads, because the rest can differ each time.
            for scenario in [ConformanceRule.Scenario.fails, .redirects, .challenges, .uploads] {
                // `try?` because a manifest without such a URL may have others.
                try? context.eachLoad(scenario, isBlocking: false) { load, _, instance throws(CheckSkipped) in
                    var (request, script) = try context.requestAndScript(load)
                    let expected = try context.perform(request, of: instance, script)
                    script.changesThreads = true
                    guard let result = try context.recordWhenIdle(request, of: instance, script) else {
                        return context.fail("'\(load.url)' did not end when each call into it came on another thread")
                    }
                    if result.didFinish != expected.didFinish || result.failure?.value?.code != expected.failure?.value?.code {
                        let phrases = [result, expected].map { LoadResult($0).phrase }
                        context.fail(
                            "'\(load.url)' gave \(phrases[0]) when each call into it came on another thread, but \(phrases[1]) otherwise")
                    }
                }
            }
        },
        .must(
            "THREAD-03", level: 3, needs: .succeeds,
            "Two loads at the same time each deliver their own bytes.",
            because: "It is easy to share a buffer by mistake.",
            remedy: "Give each load its own buffer."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let baseline = try context.baseline(.succeeds, of: instance, atMost: 8)
            for _ in 0..<4 {
                // Two loads of each URL.
                let concurrentLoads = try (baseline + baseline).map { baselineLoad throws(CheckSkipped) in
                    (baseline: baselineLoad, probedLoad: try context.make(baselineLoad.request, of: instance, baselineLoad.script))
                }
                for concurrentLoad in concurrentLoads { try concurrentLoad.probedLoad.start() }
                for concurrentLoad in concurrentLoads {
                    context.expectSame(
                        context.recordWhenIdle(concurrentLoad.probedLoad, within: context.loadTimeLimit), as: concurrentLoad.baseline,
                        "beside other loads")
                }
            }
            // Loads can also mix the bytes of their uploads. The check sees this only if the server sends the upload
            // back.
            var isEchoed = false
            for load in (try? context.loads(.uploads)) ?? [] {  // because a manifest without one may have others
                let uploads = try (0..<4).map { index throws(CheckSkipped) in
                    let piece = [UInt8](repeating: UInt8(65 + index), count: 1000)
                    return try context.upload(load, [piece, piece, piece], length: 3000)
                }
                let baselineUploads = try uploads.map { request, script throws(CheckSkipped) in
                    BaselineLoad(load: load, request: request, result: LoadResult(try context.perform(request, of: instance, script)))
                }
                guard zip(uploads, baselineUploads).allSatisfy({ $0.1.body.flatMap(\.self) == $1.result.body }) else { continue }
                isEchoed = true
                let readMeeting = ReadMeeting()
                let concurrentLoads = try uploads.map { request, script throws(CheckSkipped) in
                    var script = script
                    script.readMeeting = readMeeting
                    return try context.make(request, of: instance, script)
                }
                for probedLoad in concurrentLoads { try probedLoad.start() }
                for (probedLoad, baseline) in zip(concurrentLoads, baselineUploads) {
                    context.expectSame(
                        context.recordWhenIdle(probedLoad, within: context.loadTimeLimit), as: baseline, "beside other uploads")
                }
            }
            try context.runInside(baseline, of: instance, until: MonotonicTime.now + .seconds(2))
            if context.areAllLoadsIdle { instance.end() }
            guard Set(baseline.map(\.result)).count == 1, !isEchoed, context.findings.isEmpty else { return }
            let phrase = baseline.count == 1 ? "there is only one URL" : "all URLs of this check have the same bytes"
            throw CheckSkipped("\(phrase), so the check can't see whether loads mix their bytes")
        },
        .must(
            "THREAD-04", level: 3, needs: .succeeds,
            "After each call, signal masks and handlers, locale, rounding mode, working folder, umask and environment are the same as before.",
            because: "All of these belong to the process.",
            remedy: "Restore what a library changed, or use its thread-safe functions.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let loads = try context.loads(.any)
            let plugin = try context.plugin()
            let beforeInit = ProcessEnvironment.current()
            let instance = try context.instance(of: plugin)
            let before = ProcessEnvironment.current()
            context.fail(before.changes(since: beforeInit).map { "after init had returned, \($0)" })
            for load in loads {
                var script = CheckContext.script(for: load)
                // The thread's state is compared on the thread that calls the load's functions.
                script.checksThreadState = true
                let changes = try context.follow(load, of: instance, script).flatMap(\.threadChanges)
                context.fail(changes.map { "'\(load.url)': after \($0)" })
            }
            context.fail(ProcessEnvironment.current().changes(since: before).map { "after its loads had ended, \($0)" })
            instance.end()
        },
        .should(
            "THREAD-05", level: 4, needs: .succeeds,
            "256 loads at the same time need only a limited number of threads.",
            because: "Each thread costs memory and time.",
            remedy: "Share threads between loads.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let (count, bound) = (256, max(32, 2 * ProcessInfo.processInfo.activeProcessorCount))
            try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                let state = ConditionLock((inside: 0, isOver: false))
                let before = ProcessResources.threadsOfPlugins().count
                let concurrentLoads = try (0..<count).map { _ throws(CheckSkipped) in
                    var script = CheckContext.script(for: load)
                    script.omitsBodies = true
                    script.whileDelivering = { event, _ in
                        guard event == 0 else { return }
                        state.withLockBroadcasting { $0.inside += 1 }
                        _ = state.wait(atMost: .seconds(10)) { $0.isOver ? true : nil }
                        state.withLockBroadcasting { $0.inside -= 1 }
                    }
                    return try context.make(request, of: instance, script)
                }
                for probedLoad in concurrentLoads { try probedLoad.start() }
                let haveAllEmittedEvents = state.wait(atMost: context.loadTimeLimit) { $0.inside == count ? true : nil } == true
                // The runner itself has one thread for each load.
                let pluginThreadCount = ProcessResources.threadsOfPlugins().count - before - count
                for probedLoad in concurrentLoads { probedLoad.stop() }
                state.withLockBroadcasting { $0.isOver = true }
                for probedLoad in concurrentLoads { _ = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit) }
                guard haveAllEmittedEvents else {
                    throw CheckSkipped("some of \(count) loads of '\(load.url)' emitted no event (LOAD-01)")
                }
                if pluginThreadCount > bound {
                    context.warn(
                        "'\(load.url)': \(count) loads at the same time needed \(pluginThreadCount) threads of the plugin; share them")
                }
            }
        },
        .must(
            "THREAD-06", level: 3, needs: .succeeds,
            "The plugin holds no lock while it calls the client.",
            because: "The client may call back, or wait for another load.",
            remedy: "Unlock before each client call."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                guard let handler = try context.handler(for: request, of: instance) else { return }
                let start = MonotonicTime.now
                _ = try context.perform(request, of: instance, CheckContext.script(for: load))
                // If the load is slow, the other load is made, but not started.
                let isQuick = MonotonicTime.now - start < .milliseconds(300)
                let blockingFunction = Mutex<String?>(nil)
                let otherLoadCount = ConditionLock(0)
                let plain = CheckContext.script(for: load)
                var script = plain
                script.whileDelivering = { index, call in
                    guard index < 4, blockingFunction.withLock({ $0 == nil }) else { return }
                    let isDone = ConditionLock(false)
                    otherLoadCount.withLockBroadcasting { $0 += 1 }
                    // `try?` because without a thread, or a load, nothing waits for a lock.
                    let startResult: Void? = try? PlatformThread.start {
                        let image = try? RequestImage(request, handler.instance.argumentMemory)
                        if let image, let other = try? ProbedLoad(image, handler, plain) {
                            if isQuick { try? other.start() }
                            if other.waitUntilIdle(.seconds(10)) { other.destroy() }
                        }
                        isDone.withLockBroadcasting { $0 = true }
                        otherLoadCount.withLockBroadcasting { $0 -= 1 }
                    }
                    if startResult == nil { otherLoadCount.withLockBroadcasting { $0 -= 1 } }
                    if isDone.waitForProcessorTime(atMost: .seconds(1), for: { $0 ? true : nil }) == nil {
                        blockingFunction.withLock { $0 = call.function }
                    }
                }
                let probedLoad = try context.make(request, of: instance, script)
                try probedLoad.start()
                _ = context.recordWhenIdle(probedLoad, within: context.loadTimeLimit)
                if otherLoadCount.wait(atMost: context.loadTimeLimit, for: { $0 == 0 ? true : nil }) == nil {
                    context.areAllLoadsIdle = false
                }
                if let function = blockingFunction.withLock({ $0 }) {
                    let phrase = isQuick ? "made, run and destroyed" : "made and destroyed"
                    context.fail("'\(load.url)': another load could not be \(phrase) while \(function) ran")
                } else if handler.description.isBlocking, let function = try context.functionThatBlocksStop(of: load, request, instance) {
                    context.fail("'\(load.url)': it could not be stopped on another thread while \(function) ran")
                }
            }
        },
        .must(
            "THREAD-07", level: 3, needs: .succeeds,
            "A client call that blocks in one load does not block another load.",
            because: "The readers of two loads are independent.",
            remedy: "Share no lock between loads."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                let start = MonotonicTime.now
                guard try context.recordWhenIdle(request, of: instance, CheckContext.script(for: load)) != nil else {
                    throw CheckSkipped("'\(load.url)' did not end (LIFE-02)")
                }
                if MonotonicTime.now - start > .milliseconds(500) { throw CheckSkipped.notApplicable("'\(load.url)' takes too long") }
                // The plugin may have a lock around the whole load, or around each delivery of bytes.
                for isData in [false, true] {
                    let second = try context.make(request, of: instance, CheckContext.script(for: load))
                    // Destroys the second load even if the first load never emitted that event.
                    defer { _ = context.recordWhenIdle(second, within: context.loadTimeLimit) }
                    do throws(CheckSkipped) {
                        let first = try context.recordWhenIdle(
                            request, of: instance, load, at: { call in if case .data = call { true } else { !isData } }
                        ) { () throws(CheckSkipped) in
                            try second.start()
                            if !second.waitUntilIdle(.seconds(1)) {
                                context.fail(
                                    "'\(load.url)': a second load of it did not continue for one second while a call of the first waited")
                            }
                        }
                        // The first load did not end. If it waits for the second one, that has already been reported.
                        if first == nil { return }
                    } catch {
                        // If the body is empty, the load was checked only at its response.
                        if !isData || !error.isNotApplicable { throw error }
                    }
                }
            }
        },
        .must(
            "THREAD-08", level: 4, needs: .succeeds,
            "When no load is left, every thread of the plugin has ended or sleeps.",
            because: "A thread in a busy loop uses the processor forever.",
            remedy: "Wait on a condition variable, not in a loop.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            try context.followAll(context.loads(.any), of: instance)
            let time = ProcessResources.processorTimeAtRest()
            if time > .milliseconds(10) { context.fail("200 ms without a load used \(ValueFormatting.time(time)) of processor time") }
            instance.end()
        },
        .must(
            "THREAD-09", level: 3, needs: .succeeds,
            "'make' works on eight threads at the same time.",
            because: "The host makes loads on each thread that asks for one.",
            remedy: "Use no static buffer in 'make', and no function such as strtok.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let baseline = try context.baseline(.succeeds, of: instance, atMost: 8)
            // `try?` because a handler of this process has no library. Its threads interleave by chance.
            if let library = try? context.library(), FaultInjection.interpose(on: .memory, for: library) {
                FaultInjection.sleepAtEachCall()
            }
            // The time begins after the first loads were made, so that some of them are compared on any machine.
            var end: Duration?
            for _ in 0..<8 where context.findings.isEmpty {
                if let end, MonotonicTime.now >= end { break }
                let loads = try context.makeConcurrently(baseline, of: instance)
                let latestStart = end ?? MonotonicTime.now + .seconds(1)
                end = latestStart
                for (baselineLoad, probedLoad) in loads {
                    if MonotonicTime.now < latestStart {
                        probedLoad.runOnThisThread()
                        context.expectSame(probedLoad.record, as: baselineLoad, "made beside other loads")
                    }
                    probedLoad.destroy()
                }
            }
            instance.end()
        },
    ]
}

extension CheckContext {
    /// Performs each load, and another one with other bytes from beginning to end inside one of its events: the
    /// response, and then the next events. Both must have the results that they have alone.
    ///
    /// - Parameter end: No pair of loads starts after this time, so that slow loads leave time for the rest.
    fileprivate func runInside(
        _ baseline: [BaselineLoad], of instance: ProbedInstance, until end: Duration
    ) throws(CheckSkipped) {
        let pairs = baseline.flatMap { outer in
            baseline.filter { $0.result.body != outer.result.body && !$0.result.body.isEmpty }.map { (outer, $0) }
        }
        for (outer, inner) in pairs {
            for eventIndex in 0..<3 {
                guard MonotonicTime.now < end else { return }
                let innerLoad = try make(inner.request, of: instance, inner.script)
                var script = outer.script
                script.whileDelivering = { [loadTimeLimit] index, _ in
                    guard index == eventIndex else { return }
                    // `try?` because this closure cannot throw. A load that does not start has no body, which the
                    // comparison below notices.
                    try? innerLoad.start()
                    _ = innerLoad.waitUntilIdle(loadTimeLimit)
                }
                let outerLoad = try make(outer.request, of: instance, script)
                try outerLoad.start()
                let record = recordWhenIdle(outerLoad, within: loadTimeLimit * 2)
                guard let record, record.events.count > eventIndex else {
                    innerLoad.destroy()
                    break
                }
                expectSame(record, as: outer, "while '\(inner.load.url)' ran inside one of its events")
                if record.calls.contains(where: { if case .data(_, _, changed: true) = $0.call { true } else { false } }) {
                    fail("'\(outer.load.url)': its bytes changed in did_load while '\(inner.load.url)' ran")
                }
                expectSame(recordWhenIdle(innerLoad, within: loadTimeLimit), as: inner, "inside an event of '\(outer.load.url)'")
            }
        }
    }

    /// Makes loads on eight threads, which begin at the same time. Each makes 64 loads.
    fileprivate func makeConcurrently(
        _ baseline: [BaselineLoad], of instance: ProbedInstance
    ) throws(CheckSkipped) -> [(BaselineLoad, ProbedLoad)] {
        let (threadCount, loadsPerThread) = (8, 64)
        let readyThreads = Atomic(0)
        let made = ConditionLock((loads: [(BaselineLoad, ProbedLoad)](), endedThreads: 0, reason: CheckSkipped?.none))
        let handlers = try baseline.map { load throws(CheckSkipped) in
            guard let handler = try handler(for: load.request, of: instance) else {
                throw CheckSkipped("no handler accepts '\(load.load.url)' (CAN-01)")
            }
            return handler
        }
        for thread in 0..<threadCount {
            do throws(LoadError) {
                try PlatformThread.start {
                    var loads: [(BaselineLoad, ProbedLoad)] = []
                    var reason: CheckSkipped?
                    do throws(CheckSkipped) {
                        // The requests are made first, so that most of the time is spent in 'make'.
                        let requests = try (0..<loadsPerThread).map { index throws(CheckSkipped) in
                            let number = (thread + index) % baseline.count
                            return (number, try RequestImage(baseline[number].request, instance.argumentMemory))
                        }
                        readyThreads.add(1, ordering: .sequentiallyConsistent)
                        while readyThreads.load(ordering: .sequentiallyConsistent) < threadCount { sched_yield() }
                        for (number, image) in requests {
                            loads.append((baseline[number], try ProbedLoad(image, handlers[number], baseline[number].script)))
                        }
                    } catch {
                        reason = error
                        readyThreads.add(1, ordering: .sequentiallyConsistent)
                    }
                    made.withLockBroadcasting { [loads, reason] in
                        $0.loads += loads
                        $0.endedThreads += 1
                        $0.reason = $0.reason ?? reason
                    }
                }
            } catch {
                throw CheckSkipped.resourceShortage(error.message)
            }
        }
        guard made.wait(atMost: loadTimeLimit, for: { $0.endedThreads == threadCount ? true : nil }) == true else {
            areAllLoadsIdle = false
            throw CheckSkipped("'make' did not return on eight threads (LIFE-03)")
        }
        let (loads, reason) = made.withLock { ($0.loads, $0.reason) }
        if let reason { throw reason }
        return loads
    }
}
