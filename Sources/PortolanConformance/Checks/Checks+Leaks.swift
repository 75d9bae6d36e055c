// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanPlugins

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// UNLOAD, and the first of LEAK: what loads leave behind.
extension ConformanceCheck {
    static let leaks: [ConformanceCheck] = [
        left("LEAK-02") { $0.hasPrefix("descriptor") },
        left("LEAK-03") { $0.contains("thread") },
        ConformanceCheck("LEAK-04", needsProcess: true) { trial throws(Unjudged) in
            let before = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) }
            let folder = "\(trial.temporaryFolder)/loads-\(getpid())"
            do {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            } catch {
                throw Unjudged.lack("no temporary folder could be made: \(error)")
            }
            unsafe setenv("TMPDIR", folder, 1)
            defer {
                if let before { unsafe setenv("TMPDIR", before, 1) } else { unsafe unsetenv("TMPDIR") }
                // `try?` because what is left there is told already.
                try? FileManager.default.removeItem(atPath: folder)
            }
            let instance = try trial.instance()
            try trial.followAll(trial.loads(.any), of: instance)
            instance.end()
            // `try?` because a folder that is gone has nothing in it.
            let left = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            trial.fail(left.sorted().map { "its loads left '\($0)' in the temporary folder" })
        },
        ConformanceCheck("UNLOAD-03") { trial throws(Unjudged) in
            let instance = try trial.instance()
            // `try?` because a manifest without a URL that hangs has others.
            let waiting = (try? trial.loads(.hangs)) ?? []
            let loads = try waiting + trial.loads(.succeeds)
            let made = try (0..<32).map { index throws(Unjudged) in
                let load = loads[index % loads.count]
                return try trial.make(trial.request(load.url), of: instance, Trial.script(for: load))
            }
            for one in made { try one.start() }
            let start = MonotonicTime.now
            for one in made { one.stop() }
            for one in made {
                guard one.waitUntilIdle(.seconds(1)) else {
                    return trial.fail("one of 32 loads went on for a second when all of them were stopped")
                }
                one.destroy()
            }
            instance.end()
            let time = MonotonicTime.now - start
            if time > .seconds(1) { trial.fail("32 loads were stopped and the plugin was ended in \(Words.time(time))") }
        },
        ConformanceCheck("UNLOAD-02") { trial throws(Unjudged) in
            let old = try trial.instance()
            let copy = try JudgedLibrary.copy(of: trial.libraryPath())
            guard let entry = unsafe try JudgedLibrary(at: copy.path).entry, let pointer = unsafe entry(PortolanVersion.major) else {
                throw Unjudged("a copy of the library does not open (DESC-13)")
            }
            let build = try unsafe DescribedPlugin(pointer)
            for load in try trial.loads(.succeeds) {
                let known = try trial.known(load, trial.request(load.url), of: old)
                let record = try trial.settled(known.request, of: old, known.load) { () throws(Unjudged) in
                    guard case .started(let new) = try JudgedInstance.start(build, trial.configuration(), on: trial.bench) else {
                        return trial.fail("a new build refuses to start beside the one that runs")
                    }
                    trial.expectSame(try trial.perform(known.request, of: new, known.script), as: known, "in a new build")
                    new.end()
                }
                trial.expectSame(record, as: known, "where a new build begins and ends beside it")
            }
            if trial.areAllIdle { old.end() }
        },
        // What is left shows outside of this process: the keeper sees it.
        ConformanceCheck("UNLOAD-04", needsProcess: true) { trial throws(Unjudged) in
            guard trial.bench.isKept else {
                throw Unjudged("processes that are left are seen from outside; leave out --in-process, or use the command")
            }
            let instance = try trial.instance()
            // `try?` because without a URL there are still a start and an end.
            try trial.followAll((try? trial.loads(.any)) ?? [], of: instance)
            if trial.areAllIdle { instance.end() }
        },
        ConformanceCheck("UNLOAD-01", needsProcess: true) { trial throws(Unjudged) in
            let loads = try trial.loads(.any)
            // `try?` because a handler of this process has no library.
            if let library = try? trial.library() { _ = RefusingSystem.serve(.threads, to: library) }
            func round() throws(Unjudged) {
                let instance = try trial.instance()
                try trial.followAll(loads, of: instance)
                for load in loads {
                    let (request, script) = try trial.scene(load)
                    _ = try trial.stopped(request, of: instance, atEvent: 0, script)
                }
                guard trial.areAllIdle else { throw Unjudged("a load did not come to rest after a stop (CANCEL-04, ORDER-07)") }
                instance.end()
            }
            let left = try ProcessCensus.leftBehind(within: .seconds(2), round).filter { $0.contains("thread") }
            trial.fail(left.map { "when deinit had returned, \($0)" })
            guard left.isEmpty else { return }
            // One that stays for good, and is no other with each instance.
            let own = Patience.result(within: .seconds(2)) {
                let count = RefusingSystem.threadCount
                return count == 0 ? .done(count) : .notYet(count)
            }
            if own > 0 {
                trial.fail(
                    "when deinit had returned, \(Words.count(own, "thread")) that the library had begun ran on; link a runtime with threads as a shared library"
                )
            }
        },
    ]

    /// Many loads, and what is there afterwards that was not before.
    private static func left(_ id: String, _ isMeant: @escaping @Sendable (String) -> Bool) -> ConformanceCheck {
        ConformanceCheck(id, needsProcess: true) { trial throws(Unjudged) in
            let instance = try trial.instance()
            let loads = try trial.loads(.any)
            let left = try ProcessCensus.leftBehind(within: .seconds(2)) { () throws(Unjudged) in
                for _ in 0..<5 { try trial.followAll(loads, of: instance) }
            }.filter(isMeant)
            trial.fail(left.map { "after five rounds of its loads, \($0)" })
            instance.end()
        }
    }
}
