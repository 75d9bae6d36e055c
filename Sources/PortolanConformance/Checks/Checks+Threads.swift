// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import PortolanCore
import PortolanPlugins
import Synchronization

/// THREAD: several threads, and several loads.
extension ConformanceCheck {
    static let threads: [ConformanceCheck] = [
        ConformanceCheck("THREAD-02") { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                var script = Trial.script(for: load)
                script.pauses = .each
                // Whether it ends at all, and then all of it on one thread.
                _ = try trial.perform(request, of: instance, script)
                let expected = LoadResult(try trial.performHere(request, of: instance, script))
                script.changesThreads = true
                guard let record = try trial.settled(request, of: instance, script) else {
                    return trial.fail("'\(load.url)' did not end where each call into it came on another thread")
                }
                let found = LoadResult(record)
                if found != expected, !trial.varies(load) {
                    trial.fail("'\(load.url)' gives \(found.words) where each call into it comes on another thread, else \(expected.words)")
                }
            }
            // Others by their end alone: what comes with it may be another each time.
            for scenario in [ConformanceRule.Scenario.fails, .redirects, .challenges, .uploads] {
                // `try?` because a manifest without one has others.
                try? trial.eachLoad(scenario, isBlocking: false) { load, _, instance throws(Unjudged) in
                    var (request, script) = try trial.scene(load)
                    let expected = try trial.perform(request, of: instance, script)
                    script.changesThreads = true
                    guard let found = try trial.settled(request, of: instance, script) else {
                        return trial.fail("'\(load.url)' did not end where each call into it came on another thread")
                    }
                    if found.didFinish != expected.didFinish || found.failure?.value?.code != expected.failure?.value?.code {
                        let words = [found, expected].map { LoadResult($0).words }
                        trial.fail("'\(load.url)' gives \(words[0]) where each call into it comes on another thread, else \(words[1])")
                    }
                }
            }
        },
        ConformanceCheck("THREAD-03") { trial throws(Unjudged) in
            let instance = try trial.instance()
            let known = try trial.known(.succeeds, of: instance, atMost: 8)
            for _ in 0..<4 {
                // Two of each.
                let together = try (known + known).map { one throws(Unjudged) in
                    (known: one, made: try trial.make(one.request, of: instance, one.script))
                }
                for one in together { try one.made.start() }
                for one in together {
                    trial.expectSame(trial.settled(one.made, within: trial.patience), as: one.known, "beside other loads")
                }
            }
            // Uploads have buffers that are filled before they are delivered: seen where what was sent comes back.
            var isEchoed = false
            for load in (try? trial.loads(.uploads)) ?? [] {  // because a manifest without one has others
                let uploads = try (0..<4).map { index throws(Unjudged) in
                    let piece = [UInt8](repeating: UInt8(65 + index), count: 1000)
                    return try trial.upload(load, [piece, piece, piece], length: 3000)
                }
                let alone = try uploads.map { request, script throws(Unjudged) in
                    KnownLoad(load: load, request: request, result: LoadResult(try trial.perform(request, of: instance, script)))
                }
                guard zip(uploads, alone).allSatisfy({ $0.1.body.flatMap(\.self) == $1.result.body }) else { continue }
                isEchoed = true
                let together = try uploads.map { request, script throws(Unjudged) in
                    var script = script
                    script.readTime = .milliseconds(3)
                    return try trial.make(request, of: instance, script)
                }
                for made in together { try made.start() }
                for (made, known) in zip(together, alone) {
                    trial.expectSame(trial.settled(made, within: trial.patience), as: known, "beside other uploads")
                }
            }
            if trial.areAllIdle { instance.end() }
            guard Set(known.map(\.result)).count == 1, !isEchoed, trial.findings.isEmpty else { return }
            let words = known.count == 1 ? "there is one URL alone" : "all URLs that are judged here come to the same bytes"
            throw Unjudged("\(words): that loads mix theirs could not be seen")
        },
        ConformanceCheck("THREAD-04", needsProcess: true) { trial throws(Unjudged) in
            let instance = try trial.instance()
            let loads = try trial.loads(.any)
            let before = Surroundings.taken()
            for load in loads {
                var script = Trial.script(for: load)
                // What belongs to a thread, on that on which the load's functions are called.
                script.watchesThread = true
                let changes = try trial.follow(load, of: instance, script).flatMap(\.threadChanges)
                trial.fail(changes.map { "'\(load.url)': when \($0)" })
            }
            trial.fail(Surroundings.taken().changes(since: before).map { "when its loads had ended, \($0)" })
            instance.end()
        },
        ConformanceCheck("THREAD-05", needsProcess: true) { trial throws(Unjudged) in
            let (count, bound) = (256, max(32, 2 * ProcessInfo.processInfo.activeProcessorCount))
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                let state = Monitor((inside: 0, isOver: false))
                let before = ProcessCensus.threadsOfPlugins().count
                let together = try (0..<count).map { _ throws(Unjudged) in
                    var script = Trial.script(for: load)
                    script.isTerse = true
                    script.whileDelivering = { event, _ in
                        guard event == 0 else { return }
                        state.signalling { $0.inside += 1 }
                        _ = state.wait(atMost: .seconds(10)) { $0.isOver ? true : nil }
                        state.signalling { $0.inside -= 1 }
                    }
                    return try trial.make(request, of: instance, script)
                }
                for made in together { try made.start() }
                let areInside = state.wait(atMost: trial.patience) { $0.inside == count ? true : nil } == true
                // One for each load is the judge's.
                let own = ProcessCensus.threadsOfPlugins().count - before - count
                for made in together { made.stop() }
                state.signalling { $0.isOver = true }
                for made in together { _ = trial.settled(made, within: trial.patience) }
                guard areInside else { throw Unjudged("of \(count) loads of '\(load.url)' some told nothing (LOAD-01)") }
                if own > bound { trial.warn("'\(load.url)': \(count) loads at once had \(own) threads of their own; share them") }
            }
        },
        ConformanceCheck("THREAD-06") { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                guard let handler = try trial.handler(for: request, of: instance) else { return }
                let start = MonotonicTime.now
                _ = try trial.perform(request, of: instance, Trial.script(for: load))
                // One that takes its time can't be waited for.
                let isQuick = MonotonicTime.now - start < .milliseconds(300)
                let stuck = Mutex<String?>(nil)
                let others = Monitor(0)
                let plain = Trial.script(for: load)
                var script = plain
                script.whileDelivering = { index, call in
                    guard index < 4, stuck.withLock({ $0 == nil }) else { return }
                    let isDone = Monitor(false)
                    others.signalling { $0 += 1 }
                    // `try?` because without a thread, or a load, nothing waits for a lock.
                    let hasBegun: Void? = try? PlatformThread.start {
                        let image = try? LentRequest(request, handler.instance.lending)
                        if let image, let other = try? JudgedLoad(image, handler, plain) {
                            if isQuick { try? other.start() }
                            if other.waitUntilIdle(.seconds(10)) { other.destroy() }
                        }
                        isDone.signalling { $0 = true }
                        others.signalling { $0 -= 1 }
                    }
                    if hasBegun == nil { others.signalling { $0 -= 1 } }
                    if isDone.wait(atMost: .seconds(1), for: { $0 ? true : nil }) == nil { stuck.withLock { $0 = call.function } }
                }
                let made = try trial.make(request, of: instance, script)
                try made.start()
                _ = trial.settled(made, within: trial.patience)
                if others.wait(atMost: trial.patience, for: { $0 == 0 ? true : nil }) == nil { trial.areAllIdle = false }
                if let function = stuck.withLock({ $0 }) {
                    let words = isQuick ? "made, run and destroyed" : "made and destroyed"
                    trial.fail("'\(load.url)': another load could not be \(words) while \(function) ran")
                } else if handler.description.isBlocking, let function = try trial.functionThatHoldsUpStop(of: load, request, instance) {
                    trial.fail("'\(load.url)': it could not be stopped on another thread while \(function) ran")
                }
            }
        },
        ConformanceCheck("THREAD-07") { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                let start = MonotonicTime.now
                guard try trial.settled(request, of: instance, Trial.script(for: load)) != nil else {
                    throw Unjudged("'\(load.url)' did not end (LIFE-02)")
                }
                if MonotonicTime.now - start > .milliseconds(500) { throw Unjudged.other("'\(load.url)' takes too long") }
                // A lock is held around the whole load, or around each delivery of bytes.
                for isData in [false, true] {
                    let second = try trial.make(request, of: instance, Trial.script(for: load))
                    // Also where the first never came to that.
                    defer { _ = trial.settled(second, within: trial.patience) }
                    do throws(Unjudged) {
                        let first = try trial.settled(
                            request, of: instance, load, at: { call in if case .data = call { true } else { !isData } }
                        ) { () throws(Unjudged) in
                            try second.start()
                            if !second.waitUntilIdle(.seconds(1)) {
                                trial.fail("'\(load.url)': a second load of it did not go on for a second while a call of the first waited")
                            }
                        }
                        // One that waits for the other has been told.
                        if first == nil { return }
                    } catch {
                        // An empty body: it was judged at its response.
                        if !isData || !error.isOther { throw error }
                    }
                }
            }
        },
        ConformanceCheck("THREAD-08", needsProcess: true) { trial throws(Unjudged) in
            let instance = try trial.instance()
            try trial.followAll(trial.loads(.any), of: instance)
            let time = ProcessCensus.processorTimeAtRest()
            if time > .milliseconds(10) { trial.fail("200 ms without a load took \(Words.time(time)) of processor time") }
            instance.end()
        },
    ]
}
