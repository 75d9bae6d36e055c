// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import PortolanCore
import PortolanPlugins
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// FAULT: an environment that refuses usual resources.
extension RuleCatalogue {
    static let faults: [CheckedRule] = [
        .must(
            "FAULT-01", level: 4, needs: .succeeds,
            "If any allocation in 'init' or in a load fails, the load fails with an error or gives the right result.",
            because: "Memory often runs out at the worst moment.",
            remedy: "Check the result of malloc.", needsProcess: true,
            check: survivesRefusals(.memory, "allocation") { file in
                let language = file.hasSwift ? "Swift" : file.hasRust ? "Rust" : nil
                return language.map { "the library contains \($0), whose runtime ends the process when there is no memory" }
            }),
        .must(
            "FAULT-02", level: 4, needs: .succeeds,
            "If no file descriptor is free, the load fails with an error or gives the right result.",
            because: "Servers run close to their limits.",
            remedy: "Check the results of open and socket.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let loads = try context.loads(.succeeds)
            let usualResult = try loads.map { load throws(CheckSkipped) in
                LoadResult(try context.perform(context.request(load.url), of: instance, CheckContext.script(for: load)))
            }
            var differences: [(ConformanceLoad, String)] = []
            var limit = rlimit()
            guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
                throw CheckSkipped("the limit of descriptors can't be read")
            }
            for free in 0..<3 {
                // The lowest free number is the number of the next descriptor.
                let next = dup(0)
                close(next)
                var reducedLimit = limit
                reducedLimit.rlim_cur = rlim_t(Int(next) + free)
                guard next >= 0, unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &reducedLimit) == 0 else {
                    throw CheckSkipped("the limit of descriptors can't be set")
                }
                defer { _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) }
                for (index, load) in loads.enumerated() {
                    guard let record = try context.recordWhenIdle(context.request(load.url), of: instance, CheckContext.script(for: load))
                    else {
                        context.fail("'\(load.url)' did not end when \(ValueFormatting.count(free, "descriptor")) could be opened")
                        continue
                    }
                    let result = LoadResult(record)
                    guard result != usualResult[index], record.failure?.value == nil else { continue }
                    differences.append(
                        (load, "gave \(result.phrase) when \(ValueFormatting.count(free, "descriptor")) could be opened, and no error"))
                }
            }
            // This comes after the limit is restored, because `varies` performs loads.
            for (load, phrase) in differences where !context.varies(load) { context.fail("'\(load.url)' \(phrase)") }
            if context.areAllLoadsIdle { instance.end() }
        },
        .must(
            "FAULT-03", level: 4, needs: .succeeds,
            "If no thread can be created, the load fails with an error or gives the right result.",
            because: "Containers have limits.",
            remedy: "Check the result of pthread_create.", needsProcess: true,
            check: survivesRefusals(.threads, "thread") { _ in nil }),
        .must(
            "FAULT-04", level: 4, needs: .succeeds,
            "If signals interrupt system calls all the time, the load gives the right result.",
            because: "Profilers and terminals send signals.",
            remedy: "Repeat the call on EINTR.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let usualResults = try context.results()
            // Without SA_RESTART, blocking calls return EINTR each millisecond. Three threads receive no signal: this
            // one, the sender, and the first thread of the process, which does nothing.
            var (action, old) = (sigaction(), sigaction())
            unsafe action.__sigaction_handler.sa_handler = { _ in }
            guard unsafe sigaction(SIGUSR2, &action, &old) == 0 else { throw CheckSkipped("no signal handler could be set") }
            let runner = portolan_thread_number()
            let state = ConditionLock((isOver: false, hasEnded: false, sent: 0))
            do throws(LoadError) {
                try PlatformThread.start {
                    while !state.withLock(\.isOver) {
                        for thread in ProcessResources.threads() where ![runner, portolan_thread_number(), getpid()].contains(thread) {
                            if portolan_signal_thread(thread, SIGUSR2) == 0 { state.withLock { $0.sent += 1 } }
                        }
                        Polling.sleep(.milliseconds(1))
                    }
                    state.withLockBroadcasting { $0.hasEnded = true }
                }
            } catch {
                throw CheckSkipped.resourceShortage(error.message)
            }
            defer {
                state.withLock { $0.isOver = true }
                state.wait { $0.hasEnded ? () : nil }
                unsafe sigaction(SIGUSR2, &old, nil)
            }
            // On a busy machine the signals come late, and a round with few signals shows nothing.
            let deadline = MonotonicTime.now + context.loadTimeLimit
            let sentBefore = state.withLock(\.sent)
            var round = 0
            while round < 3 || state.withLock(\.sent) - sentBefore < 64 {
                guard round < 3 || MonotonicTime.now < deadline else { throw CheckSkipped("too few signals reached the load") }
                round += 1
                let result = try context.results()
                for (index, load) in try context.loads(.succeeds).enumerated()
                where result[index] != usualResults[index] && !context.varies(load) {
                    context.fail(
                        "'\(load.url)' gave \(result[index].phrase) when signals interrupted its calls, but \(usualResults[index].phrase) otherwise"
                    )
                }
            }
        },
        .must(
            "FAULT-05", level: 4, needs: .succeeds,
            "Writing to a closed pipe or socket does not kill the host.",
            because: "By default, SIGPIPE ends a process.",
            remedy: "Use MSG_NOSIGNAL.", needsProcess: true
        ) { context throws(CheckSkipped) in
            // With the default disposition, SIGPIPE ends the process (`signal(7)`). The load's thread blocks this
            // signal, but a thread that stops a load does not have to.
            signal(SIGPIPE, SIG_DFL)
            try context.eachLoad(.any) { load, _, instance throws(CheckSkipped) in
                for stops in [false, true] {
                    let before = Set(ProcessResources.descriptors().keys)
                    let didShutDown = Mutex(false)
                    let slot = Mutex<ProbedLoad?>(nil)
                    let (request, plain) = try context.requestAndScript(load)
                    var script = plain
                    script.whileDelivering = { index, call in
                        guard index == 0 else { return }
                        for number in ProcessResources.descriptors().keys where !before.contains(number) {
                            if shutdown(number, Int32(SHUT_RDWR)) == 0 { didShutDown.withLock { $0 = true } }
                        }
                        if stops, !call.isEnd, let probedLoad = slot.withLock(\.self) { stopOnThreadWithSIGPIPE(probedLoad) }
                    }
                    let probedLoad = try context.make(request, of: instance, script)
                    slot.withLock { $0 = probedLoad }
                    defer { slot.withLock { $0 = nil } }
                    try probedLoad.start()
                    guard context.recordWhenIdle(probedLoad, within: context.loadTimeLimit) != nil else {
                        return context.fail("'\(load.url)' did not end when its sockets had been shut down")
                    }
                    guard didShutDown.withLock(\.self) else {
                        throw CheckSkipped.notApplicable("'\(load.url)' has no socket open at its first event")
                    }
                }
            }
        },
        .must(
            "FAULT-06", level: 4, needs: .succeeds,
            "If the temporary folder is full, the load fails with an error or gives the right result.",
            because: "Disks become full.",
            remedy: "Check the results of write and close.", needsProcess: true
        ) { context throws(CheckSkipped) in
            // No file can grow: write(2) returns EFBIG, as it returns ENOSPC on a full disk.
            var (action, old) = (sigaction(), sigaction())
            unsafe action.__sigaction_handler.sa_handler = SIG_IGN
            var (reducedLimit, limit) = (rlimit(), rlimit())
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
            guard unsafe sigaction(SIGXFSZ, &action, &old) == 0, unsafe getrlimit(resource, &limit) == 0 else {
                throw CheckSkipped("the limit of files can't be read")
            }
            defer { unsafe sigaction(SIGXFSZ, &old, nil) }
            try context.eachLoad(.any) { load, _, instance throws(CheckSkipped) in
                let (request, script) = try context.requestAndScript(load)
                let usualResult = LoadResult(try context.perform(request, of: instance, script))
                reducedLimit = limit
                reducedLimit.rlim_cur = 0
                guard unsafe setrlimit(resource, &reducedLimit) == 0 else { throw CheckSkipped("the limit of files can't be set") }
                defer { _ = unsafe setrlimit(resource, &limit) }
                guard let record = try context.recordWhenIdle(request, of: instance, script) else {
                    return context.fail("'\(load.url)' did not end when no file could grow")
                }
                context.expect(record, usualResult, load, "when no file can grow")
            }
        },
        .must(
            "FAULT-07", level: 4, needs: .any,
            "If any function of the host refuses once, the load fails with an error or gives the right result.",
            because: "Hosts have limits, too.",
            remedy: "Check the result of each call."
        ) { context throws(CheckSkipped) in
            let plugin = try context.plugin()
            let loadsWithScripts = try context.loads(.any).map { load throws(CheckSkipped) in (load, try context.requestAndScript(load)) }
            let instanceWithExtensions = try context.instance(of: plugin)
            let usualResults = try loadsWithScripts.map { _, requestWithScript throws(CheckSkipped) in
                LoadResult(try context.perform(requestWithScript.0, of: instanceWithExtensions, requestWithScript.1))
            }
            instanceWithExtensions.end()
            let all = TestHost.allExtensions
            // Tries hosts without one of the extensions, a host without any, and a host that has no more watches.
            for offeredExtensions in all.map({ all.subtracting([$0]) }) + [[], all] {
                let start = try ProbedInstance.start(
                    plugin, context.configuration(), offering: offeredExtensions, on: context.instanceContext)
                guard case .started(let instance) = start else { continue }
                let phrase =
                    offeredExtensions == all
                    ? "when nothing can be watched"
                    : "with a host that offers \(offeredExtensions.sorted().first.map { "only \($0)" } ?? "no extension")"
                for (index, (load, requestWithScript)) in loadsWithScripts.enumerated() {
                    // A handler may refuse the request because the host lacks the extension.
                    guard try context.handler(for: requestWithScript.0, of: instance) != nil else { continue }
                    var script = requestWithScript.1
                    script.refusesWatches = offeredExtensions == all
                    guard let record = try context.recordWhenIdle(requestWithScript.0, of: instance, script) else {
                        context.fail("'\(load.url)' did not end \(phrase)")
                        continue
                    }
                    context.expect(record, usualResults[index], load, phrase)
                }
                if context.areAllLoadsIdle { instance.end() }
            }
        },
    ]
}

extension CheckContext {
    /// The result of each load that succeeds, all in one new instance.
    func results() throws(CheckSkipped) -> [LoadResult] {
        let instance = try instance()
        var results: [LoadResult] = []
        for load in try loads(.succeeds) {
            results.append(LoadResult(try perform(request(load.url), of: instance, Self.script(for: load))))
        }
        instance.end()
        return results
    }
}
