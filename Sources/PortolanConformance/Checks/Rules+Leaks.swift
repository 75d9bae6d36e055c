// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension RuleCatalogue {
    static let leaks: [ConformanceRule] = [
        .must(
            "LEAK-01", level: 4, needs: .succeeds,
            "The heap does not grow over 1,000 loads.",
            because: "Servers run for months.",
            remedy: "Free in destroy everything that make and the load allocated."),
        .must(
            "LEAK-02", level: 4, needs: .succeeds,
            "The number of file descriptors does not grow over many loads.",
            because: "A process can have only a few hundred.",
            remedy: "Close each file descriptor on every path."),
        .must(
            "LEAK-03", level: 4, needs: .succeeds,
            "The number of threads does not grow over many loads.",
            because: "Each thread has a stack.",
            remedy: "Join each thread on every path."),
        .must(
            "LEAK-04", level: 4, needs: .succeeds,
            "Loads leave no temporary file.",
            because: "Disks become full.",
            remedy: "Unlink the file right after you open it."),
        .must(
            "LEAK-05", level: 4, needs: .succeeds,
            "The heap does not grow over 1,000 cancelled loads.",
            because: "Users cancel loads very often.",
            remedy: "Free in destroy, whatever happened before."),
        .must(
            "LEAK-06", level: 4, needs: .fails,
            "The heap does not grow over 1,000 failed loads.",
            because: "Programs try a peer that is down again and again.",
            remedy: "Free memory on the error path, too."),
        .must(
            "LEAK-07", level: 4, needs: .nested,
            "The load closes every nested load that it has opened.",
            because: "An open nested load keeps its connection open.",
            remedy: "Call close, also after a failure."),
    ]
}

extension RuleCatalogue {
    static let unloading: [ConformanceRule] = [
        .must(
            "UNLOAD-01", level: 3,
            "After deinit, no thread runs the plugin's code.",
            because: "The thread would run for an instance that no longer exists.",
            remedy: "Join threads in deinit."),
        .must(
            "UNLOAD-02", level: 3,
            "If a new build is opened beside the running one, new loads use the new build and old loads finish on the old one.",
            because: "Plugin authors rebuild very often.",
            remedy: "Keep no state under names that the process shares."),
        .must(
            "UNLOAD-03", level: 3, needs: .succeeds,
            "Stopping many loads and then calling deinit takes less than a second.",
            because: "Users expect that a program ends when they close it.",
            remedy: "Stop the loads in parallel, and wait for nothing."),
        .must(
            "UNLOAD-04", level: 3,
            "After deinit, no process that the plugin started is left.",
            because: "It would run without a purpose, and keep what it inherited: file descriptors, memory and ports.",
            remedy: "End each process and wait for it, in deinit and on every path on which a load ends."),
    ]
}

/// UNLOAD, and the first LEAK rules: resources that loads leave behind.
extension ConformanceCheck {
    static let leaks: [ConformanceCheck] = [
        left("LEAK-02") { $0.hasPrefix("descriptor") },
        left("LEAK-03") { $0.contains("thread") },
        ConformanceCheck("LEAK-04", needsProcess: true) { context throws(CheckSkipped) in
            let before = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) }
            let folder = "\(context.temporaryFolder)/loads-\(getpid())"
            do {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            } catch {
                throw CheckSkipped.lack("no temporary folder could be made: \(error)")
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
            let left = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            context.fail(left.sorted().map { "its loads left '\($0)' in the temporary folder" })
        },
        ConformanceCheck("UNLOAD-03") { context throws(CheckSkipped) in
            let instance = try context.instance()
            // `try?` because a manifest without a URL that hangs may have others.
            let waiting = (try? context.loads(.hangs)) ?? []
            let loads = try waiting + context.loads(.succeeds)
            let made = try (0..<32).map { index throws(CheckSkipped) in
                let load = loads[index % loads.count]
                return try context.make(context.request(load.url), of: instance, CheckContext.script(for: load))
            }
            for one in made { try one.start() }
            let start = MonotonicTime.now
            for one in made { one.stop() }
            for one in made {
                guard one.waitUntilIdle(.seconds(1)) else {
                    return context.fail("one of 32 loads was still running one second after all of them were stopped")
                }
                one.destroy()
            }
            instance.end()
            let time = MonotonicTime.now - start
            if time > .seconds(1) { context.fail("stopping 32 loads and calling deinit took \(ValueFormatting.time(time))") }
        },
        ConformanceCheck("UNLOAD-02") { context throws(CheckSkipped) in
            let old = try context.instance()
            let copy = try ProbedLibrary.copy(of: context.libraryPath())
            guard let entry = unsafe try ProbedLibrary(at: copy.path).entry, let pointer = unsafe entry(PortolanVersion.major) else {
                throw CheckSkipped("a copy of the library does not open (DESC-13)")
            }
            let build = try unsafe DescribedPlugin(pointer)
            for load in try context.loads(.succeeds) {
                let known = try context.known(load, context.request(load.url), of: old)
                let record = try context.settled(known.request, of: old, known.load) { () throws(CheckSkipped) in
                    guard case .started(let new) = try ProbedInstance.start(build, context.configuration(), on: context.instanceContext)
                    else {
                        return context.fail("a new build refuses to start beside the running one")
                    }
                    context.expectSame(try context.perform(known.request, of: new, known.script), as: known, "in a new build")
                    new.end()
                }
                context.expectSame(record, as: known, "while a new build started and ended beside it")
            }
            if context.areAllIdle { old.end() }
        },
        // Leftover processes show only outside of this process: the supervisor sees them.
        ConformanceCheck("UNLOAD-04", needsProcess: true) { context throws(CheckSkipped) in
            guard context.instanceContext.isSupervised else {
                throw CheckSkipped("leftover processes are only visible from outside; leave out --in-process, or use the command")
            }
            let instance = try context.instance()
            // `try?` because without a URL there are still a start and an end.
            try context.followAll((try? context.loads(.any)) ?? [], of: instance)
            if context.areAllIdle { instance.end() }
        },
        ConformanceCheck("UNLOAD-01", needsProcess: true) { context throws(CheckSkipped) in
            let loads = try context.loads(.any)
            // `try?` because a handler of this process has no library.
            if let library = try? context.library() { _ = FaultInjection.serve(.threads, to: library) }
            func round() throws(CheckSkipped) {
                let instance = try context.instance()
                try context.followAll(loads, of: instance)
                for load in loads {
                    let (request, script) = try context.scene(load)
                    _ = try context.stopped(request, of: instance, atEvent: 0, script)
                }
                guard context.areAllIdle else { throw CheckSkipped("a load was still running after a stop (CANCEL-04, ORDER-07)") }
                instance.end()
            }
            let left = try ProcessResources.leftBehind(within: .seconds(2), round).filter { $0.contains("thread") }
            context.fail(left.map { "after deinit had returned, \($0)" })
            guard left.isEmpty else { return }
            // A thread that stays for ever, and is not a new one for each instance.
            let own = Polling.result(within: .seconds(2)) {
                let count = FaultInjection.threadCount
                return count == 0 ? .done(count) : .notYet(count)
            }
            if own > 0 {
                context.fail(
                    "after deinit had returned, \(ValueFormatting.count(own, "thread")) that the library had started still ran; "
                        + "link a runtime with threads as a shared library")
            }
        },
    ]

    /// Performs many loads, and reports the new resources that remain.
    private static func left(_ id: String, _ isMeant: @escaping @Sendable (String) -> Bool) -> ConformanceCheck {
        ConformanceCheck(id, needsProcess: true) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let loads = try context.loads(.any)
            let left = try ProcessResources.leftBehind(within: .seconds(2)) { () throws(CheckSkipped) in
                for _ in 0..<5 { try context.followAll(loads, of: instance) }
            }.filter(isMeant)
            context.fail(left.map { "after five rounds of its loads, \($0)" })
            instance.end()
        }
    }
}
