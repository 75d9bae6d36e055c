// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// LOAD: many loads, and instances, at once.
extension ConformanceCheck {
    static let stress: [ConformanceCheck] = [
        ConformanceCheck("LOAD-01") { trial throws(Unjudged) in
            let instance = try trial.instance()
            var random = SplitMix(seed: trial.seed)
            let scenes = try trial.loads(.succeeds).prefix(8).map { load throws(Unjudged) in
                let request = try trial.request(load.url)
                return (load, request, LoadResult(try trial.perform(request, of: instance, Trial.script(for: load))))
            }
            let count = 128
            // All are under way at once: each waits at its first event for the last.
            let begun = Monitor(0)
            let together = try (0..<count).map { index throws(Unjudged) in
                let (load, request, _) = scenes[index % scenes.count]
                var script = Trial.script(for: load)
                script.whileDelivering = { event, _ in
                    guard event == 0 else { return }
                    begun.signalling { $0 += 1 }
                    _ = begun.wait(atMost: .seconds(2)) { $0 >= count ? true : nil }
                }
                return try trial.make(request, of: instance, script)
            }
            for made in together { try made.start() }
            let isStopped = together.map { _ in random.next() % 4 == 0 }
            for (made, isStopped) in zip(together, isStopped) where isStopped { made.stop() }
            for (index, made) in together.enumerated() {
                let (load, _, alone) = scenes[index % scenes.count]
                guard let record = trial.settled(made, within: trial.patience) else {
                    trial.fail("'\(load.url)' did not end among \(count) loads")
                    continue
                }
                let found = LoadResult(record)
                if !isStopped[index], found != alone {
                    trial.fail("'\(load.url)' gives \(found.words) among \(count) loads, and \(alone.words) alone, or other bytes")
                }
            }
            if trial.areAllIdle { instance.end() }
        },
        ConformanceCheck("LOAD-02") { trial throws(Unjudged) in
            let instance = try trial.instance()
            var random = SplitMix(seed: trial.seed)
            let scenes = try trial.loads(.large).prefix(4).map { load throws(Unjudged) in
                let request = try trial.request(load.url)
                return (load, request, LoadResult(try trial.perform(request, of: instance, Trial.script(for: load))))
            }
            // As many at once as memory has room for: the judge keeps what comes.
            let largest = scenes.map { $0.2.body.count }.max() ?? 0
            let count = max(4, min(64, (1 << 28) / max(1, largest)))
            let begun = Monitor(0)
            // One that has a few at a time begin waits for no others.
            let gate = MonotonicTime.now + .seconds(2)
            let together = try (0..<count).map { index throws(Unjudged) in
                let (load, request, _) = scenes[index % scenes.count]
                var script = Trial.script(for: load)
                script.pauses = [.none, .first, .each][Int(random.next() % 3)]
                script.pauseTime = .microseconds(Int64(random.next() % 3000))
                let slow = random.next() % 8
                script.whileDelivering = { event, _ in
                    if event == 0 {
                        begun.signalling { $0 += 1 }
                        _ = begun.wait(atMost: max(.zero, gate - MonotonicTime.now)) { $0 >= count ? true : nil }
                    }
                    // A reader that is slow now and then.
                    if UInt64(event) % 8 == slow { Patience.watch(.microseconds(500)) }
                }
                return try trial.make(request, of: instance, script)
            }
            for made in together { try made.start() }
            for (index, made) in together.enumerated() {
                let (load, _, alone) = scenes[index % scenes.count]
                guard let record = trial.settled(made, within: trial.patience) else {
                    trial.fail("'\(load.url)' did not end among \(count) large loads with pauses")
                    continue
                }
                let found = LoadResult(record)
                if found != alone {
                    trial.fail("'\(load.url)' gives \(found.words) among \(count) with pauses, and \(alone.words) alone, or other bytes")
                }
            }
            if trial.areAllIdle { instance.end() }
        },
        ConformanceCheck("LOAD-03") { trial throws(Unjudged) in
            let count = 10_000
            let instance = try trial.instance()
            instance.keepFew(since: 0)
            let scenes = try trial.loads(.succeeds).prefix(8).map { load throws(Unjudged) in
                let request = try trial.request(load.url)
                return (load, request, LoadResult(try trial.perform(request, of: instance, Trial.script(for: load))))
            }
            let end = MonotonicTime.now + trial.patience * 3
            for index in 0..<count {
                let (load, request, alone) = scenes[index % scenes.count]
                guard MonotonicTime.now < end else {
                    throw Unjudged("only \(index) of \(count) loads fitted into the time; --timeout gives more")
                }
                let found = LoadResult(try trial.performHere(request, of: instance, Trial.script(for: load)))
                guard found == alone else {
                    return trial.fail(
                        "load \(index + 1), of '\(load.url)', gives \(found.words), and the first gave \(alone.words), or other bytes")
                }
            }
            instance.end()
        },
        ConformanceCheck("LOAD-04") { trial throws(Unjudged) in
            let plugin = try trial.plugin()
            let first = try trial.instance(of: plugin)
            for load in try trial.loads(.succeeds) {
                let request = try trial.request(load.url)
                let alone = LoadResult(try trial.perform(request, of: first, Trial.script(for: load)))
                let record = try trial.settled(request, of: first, load) { () throws(Unjudged) in
                    let second = try trial.instance(of: plugin)
                    let beside = LoadResult(try trial.perform(request, of: second, Trial.script(for: load)))
                    second.end()
                    if beside != alone { trial.fail("'\(load.url)' gives another result in a second instance of the plugin") }
                }
                guard let record else {
                    trial.fail("'\(load.url)' did not end when another instance had begun and ended beside it")
                    continue
                }
                if LoadResult(record) != alone {
                    trial.fail(
                        "'\(load.url)' gives \(LoadResult(record).words) where another instance begins and ends beside it, else \(alone.words)"
                    )
                }
            }
            if trial.areAllIdle { first.end() }
        },
        ConformanceCheck("LOAD-05") { trial throws(Unjudged) in
            let instance = try trial.instance()
            let waiting = try trial.loads(.hangs).map { load throws(Unjudged) in
                let made = try trial.make(trial.request(load.url), of: instance, Trial.script(for: load))
                try made.start()
                return made
            }
            Patience.watch(.milliseconds(20))
            for load in try trial.loads(.succeeds) {
                if try trial.settled(trial.request(load.url), of: instance, Trial.script(for: load), within: .seconds(1)) == nil {
                    trial.fail("'\(load.url)' did not end within a second beside a load that hangs")
                }
            }
            for made in waiting {
                made.stop()
                _ = trial.settled(made, within: .seconds(1))
            }
            if trial.areAllIdle { instance.end() }
        },
    ]
}
