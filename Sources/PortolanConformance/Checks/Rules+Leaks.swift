// SPDX-License-Identifier: Apache-2.0

import CPortolan
import FoundationEssentials
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// LEAK and UNLOAD: resources that loads leave behind.
extension RuleCatalogue {
    static let leaks: [CheckedRule] = [
        .must(
            "LEAK-01", level: 4, needs: .succeeds,
            "The heap does not grow over 1,000 loads.",
            because: "Servers run for months.",
            remedy: "Free in 'destroy' everything that 'make' and the load allocated.", needsProcess: true,
            check: heapStaysConstant(.any, "loads") { context, rounds throws(CheckSkipped) in
                try context.eachLoad(.any) { load, _, instance throws(CheckSkipped) in
                    try rounds(load, instance) { _ throws(CheckSkipped) in
                        let (request, script) = try context.requestAndScriptWithoutBodies(load)
                        _ = try context.performOnThisThread(request, of: instance, script)
                    }
                }
            }),
        .must(
            "LEAK-02", level: 4, needs: .succeeds,
            "The number of file descriptors does not grow over many loads.",
            because: "A process can have only a few hundred.",
            remedy: "Close each file descriptor on every path.", needsProcess: true,
            check: leftovers { $0.hasPrefix("descriptor") }),
        .must(
            "LEAK-03", level: 4, needs: .succeeds,
            "The number of threads does not grow over many loads.",
            because: "Each thread has a stack.",
            remedy: "Join each thread on every path.", needsProcess: true,
            check: leftovers { $0.contains("thread") }),
        .must(
            "LEAK-04", level: 4, needs: .succeeds,
            "Loads leave no temporary file.",
            because: "Disks become full.",
            remedy: "Unlink the file right after you open it.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let before = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) }
            let folder = "\(context.temporaryFolder)/loads-\(getpid())"
            do {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            } catch {
                throw CheckSkipped.resourceShortage("no temporary folder could be made: \(error)")
            }
            unsafe setenv("TMPDIR", folder, 1)
            defer {
                if let before { unsafe setenv("TMPDIR", before, 1) } else { unsafe unsetenv("TMPDIR") }
                // `try?` because a remaining folder has already been reported.
                try? FileManager.default.removeItem(atPath: folder)
            }
            let instance = try context.instance()
            try context.followAll(context.loads(.any), of: instance)
            instance.end()
            // `try?` because a folder that is gone contains nothing.
            let leftovers = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            context.fail(leftovers.sorted().map { "its loads left '\($0)' in the temporary folder" })
        },
        .must(
            "LEAK-05", level: 4, needs: .succeeds,
            "The heap does not grow over 1,000 cancelled loads.",
            because: "Users cancel loads very often.",
            remedy: "Free in 'destroy', whatever happened before.", needsProcess: true,
            check: heapStaysConstant(.any, "loads that were stopped") { context, rounds throws(CheckSkipped) in
                func measure(_ scenario: ConformanceRule.Scenario) throws(CheckSkipped) {
                    try context.eachLoad(scenario) { load, _, instance throws(CheckSkipped) in
                        try rounds(load, instance) { index throws(CheckSkipped) in
                            var (request, script) = try context.requestAndScriptWithoutBodies(load)
                            // Stops the loads at one of their first four events, while a challenge waits, right after
                            // the start, or without a start.
                            if scenario != .hangs, index % 6 < 4 {
                                script.stopEventIndex = index % 6
                                _ = try context.performOnThisThread(request, of: instance, script)
                                return
                            }
                            if index % 12 == 5, load.tags.contains(.challenges) {
                                guard try context.recordStoppedInChallenge(request, of: instance, script) == nil else { return }
                                throw CheckSkipped("'\(load.url)' was still running after a stop during a challenge (CANCEL-06)")
                            }
                            let probedLoad = try context.make(request, of: instance, script)
                            if index % 6 != 4 { try probedLoad.start() }
                            probedLoad.stop()
                            guard context.recordWhenIdle(probedLoad, within: context.stopTimeLimit) != nil else {
                                throw CheckSkipped("'\(load.url)' was still running after a stop (CANCEL-04)")
                            }
                        }
                    }
                }
                try measure(.any)
                if (try? context.loads(.hangs)) != nil { try measure(.hangs) }  // because a manifest without one may have others
            }),
        .must(
            "LEAK-06", level: 4, needs: .fails,
            "The heap does not grow over 1,000 failed loads.",
            because: "Programs try a peer that is down again and again.",
            remedy: "Free memory on the error path, too.", needsProcess: true,
            check: heapStaysConstant(.fails, "loads that failed") { context, rounds throws(CheckSkipped) in
                try context.eachLoad(.fails) { load, _, instance throws(CheckSkipped) in
                    try rounds(load, instance) { _ throws(CheckSkipped) in
                        let (request, script) = try context.requestAndScriptWithoutBodies(load)
                        _ = try context.performOnThisThread(request, of: instance, script)
                    }
                }
            }),
        .must(
            "LEAK-07", level: 4, needs: .nested,
            "The load closes every nested load that it has opened.",
            because: "An open nested load keeps its connection open.",
            remedy: "Call 'close', also after a failure."
        ) { context throws(CheckSkipped) in
            // Performs only loads that reach their own end, because the host closes the nested loads of a stopped load.
            for nestedOutcome in [ClientScript.NestedOutcome.loaded, .failing(.accessDenied), .cut(after: 1), .bytes([0xFF, 0, 0xFF])] {
                try context.eachNested(nestedOutcome) { load, probedLoad throws(CheckSkipped) in
                    guard context.recordWhenIdle(probedLoad, within: context.loadTimeLimit) != nil else {
                        throw CheckSkipped("'\(load.url)' did not end (LIFE-02)")
                    }
                    let opened = probedLoad.client.state.withLock(\.nested)
                    guard !opened.isEmpty else { throw CheckSkipped("'\(load.url)' opened no nested load (NEST-01)") }
                    if opened.contains(where: { $0.use.closes == 0 }) {
                        context.fail("'\(load.url)' did not close a nested load that it had opened")
                    }
                }
            }
        },
    ]

    static let unloading: [CheckedRule] = [
        .must(
            "UNLOAD-01", level: 3,
            "After 'deinit', no thread runs the plugin's code.",
            because: "The thread would run for an instance that no longer exists.",
            remedy: "Join threads in 'deinit'.", needsProcess: true
        ) { context throws(CheckSkipped) in
            let loads = try context.loads(.any)
            // `try?` because a handler of this process has no library.
            if let library = try? context.library() { _ = FaultInjection.interpose(on: .threads, for: library) }
            func round() throws(CheckSkipped) {
                let instance = try context.instance()
                try context.followAll(loads, of: instance)
                for load in loads {
                    let (request, script) = try context.requestAndScript(load)
                    _ = try context.recordOfStoppedLoad(request, of: instance, atEvent: 0, script)
                }
                guard context.areAllLoadsIdle else { throw CheckSkipped("a load was still running after a stop (CANCEL-04)") }
                instance.end()
            }
            let leftovers = try ProcessResources.leftBehind(within: .seconds(2), round).filter { $0.contains("thread") }
            context.fail(leftovers.map { "after deinit had returned, \($0)" })
            guard leftovers.isEmpty else { return }
            // Also counts a thread that only the first instance started, and that never ends.
            let ownThreadCount = Polling.result(within: .seconds(2)) {
                let count = FaultInjection.threadCount
                return count == 0 ? .done(count) : .notYet(count)
            }
            if ownThreadCount > 0 {
                context.fail(
                    "after deinit had returned, \(ValueFormatting.count(ownThreadCount, "thread")) that the library had started still ran; "
                        + "link a runtime with threads as a shared library")
            }
        },
        .must(
            "UNLOAD-02", level: 3,
            "If a new build is opened beside the running one, new loads use the new build and old loads finish on the old one.",
            because: "Plugin authors rebuild very often.",
            remedy: "Keep no state under names that the process shares."
        ) { context throws(CheckSkipped) in
            let oldInstance = try context.instance()
            let copy = try ProbedLibrary.copy(of: context.libraryPath())
            guard let entry = try ProbedLibrary(at: copy.path, on: context.instanceContext).entry,
                let pointer = unsafe entry(PORTOLAN_ABI_MAJOR)
            else {
                throw CheckSkipped("a copy of the library does not open (DESC-13)")
            }
            let newBuild = try unsafe DescribedPlugin(pointer)
            for load in try context.loads(.succeeds) {
                let baseline = try context.baseline(load, context.request(load.url), of: oldInstance)
                let record = try context.recordWhenIdle(baseline.request, of: oldInstance, baseline.load) { () throws(CheckSkipped) in
                    guard
                        case .started(let newInstance) = try ProbedInstance.start(
                            newBuild, context.configuration(), on: context.instanceContext)
                    else {
                        return context.fail("a new build refuses to start beside the running one")
                    }
                    context.expectSame(
                        try context.perform(baseline.request, of: newInstance, baseline.script), as: baseline, "in a new build")
                    newInstance.end()
                }
                context.expectSame(record, as: baseline, "while a new build started and ended beside it")
            }
            if context.areAllLoadsIdle { oldInstance.end() }
        },
        .must(
            "UNLOAD-03", level: 3, needs: .succeeds,
            "Stopping many loads and then calling 'deinit' takes less than a second.",
            because: "Users expect that a program ends when they close it.",
            remedy: "Stop the loads in parallel, and wait for nothing."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            // `try?` because a manifest without a URL that hangs may have others.
            let hangingLoads = (try? context.loads(.hangs)) ?? []
            let loads = try hangingLoads + context.loads(.succeeds)
            let probedLoads = try (0..<32).map { index throws(CheckSkipped) in
                let load = loads[index % loads.count]
                return try context.make(context.request(load.url), of: instance, CheckContext.script(for: load))
            }
            for probedLoad in probedLoads { try probedLoad.start() }
            let (start, waitBefore) = (MonotonicTime.now, ProcessorWait.ofAllThreads)
            for probedLoad in probedLoads { probedLoad.stop() }
            for (index, probedLoad) in probedLoads.enumerated() {
                guard probedLoad.waitUntilIdle(.seconds(1)) else {
                    let url = loads[index % loads.count].url
                    return context.fail(
                        "one of 32 loads, '\(url)', was still running one second after all of them were stopped", about: probedLoad)
                }
                probedLoad.destroy()
            }
            instance.end()
            let time = MonotonicTime.now - start - ProcessorWait.ofAllThreads.longest(since: waitBefore)
            if time > .seconds(1) { context.fail("stopping 32 loads and calling deinit took \(ValueFormatting.time(time))") }
        },
        // The check itself cannot see leftover processes. The supervisor reports them.
        .must(
            "UNLOAD-04", level: 3,
            "After 'deinit', no process that the plugin started is left.",
            because: "It would run without a purpose, and keep what it inherited: file descriptors, memory and ports.",
            remedy: "End each process and wait for it, in 'deinit' and on every path on which a load ends.", needsProcess: true
        ) { context throws(CheckSkipped) in
            guard context.instanceContext.isSupervised else {
                throw CheckSkipped("leftover processes are only visible from outside; leave out --in-process, or use the command")
            }
            let instance = try context.instance()
            // `try?` because without a URL the check still starts and ends an instance.
            try context.followAll((try? context.loads(.any)) ?? [], of: instance)
            if context.areAllLoadsIdle { instance.end() }
        },
    ]

    /// Returns a check that performs many loads, and reports the new resources that remain.
    private static func leftovers(_ isReported: @escaping @Sendable (String) -> Bool) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
            let instance = try context.instance()
            let loads = try context.loads(.any)
            let leftovers = try ProcessResources.leftBehind(within: .seconds(2)) { () throws(CheckSkipped) in
                for _ in 0..<5 { try context.followAll(loads, of: instance) }
            }.filter(isReported)
            context.fail(leftovers.map { "after five rounds of its loads, \($0)" })
            instance.end()
        }
    }
}
