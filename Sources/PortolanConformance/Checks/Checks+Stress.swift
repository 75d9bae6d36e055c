// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// LOAD: many loads, and instances, at once.
extension ConformanceCheck {
    static let stress: [ConformanceCheck] = [
        ConformanceCheck("LOAD-01") { trial throws(Unjudged) in
            let instance = try trial.instance()
            var random = SplitMix(seed: trial.seed)
            let together = try trial.together(trial.known(.succeeds, of: instance, atMost: 8), 128, of: instance)
            let isStopped = together.map { _ in random.next() % 4 == 0 }
            for (one, isStopped) in zip(together, isStopped) where isStopped { one.made.stop() }
            for (one, isStopped) in zip(together, isStopped) {
                let record = trial.settled(one.made, within: trial.patience + Trial.timeToGather)
                if !isStopped || record == nil { trial.expectSame(record, as: one.known, "among \(together.count) loads") }
            }
            if trial.areAllIdle { instance.end() }
        },
        ConformanceCheck("LOAD-02") { trial throws(Unjudged) in
            let instance = try trial.instance()
            var random = SplitMix(seed: trial.seed)
            let known = try trial.known(.large, of: instance, atMost: 4)
            // As many at once as memory has room for: the judge keeps what comes.
            let largest = known.map(\.result.body.count).max() ?? 0
            let together = try trial.together(known, max(4, min(64, (1 << 28) / max(1, largest))), of: instance) { script in
                script.pauses = random.element(of: [.none, .first, .each])
                script.pauseTime = .microseconds(Int64(random.next() % 3000))
                // A reader that is slow now and then.
                let slow = random.next() % 8
                script.whileDelivering = { event, _ in
                    if UInt64(event) % 8 == slow { Patience.watch(.microseconds(500)) }
                }
            }
            for one in together {
                let record = trial.settled(one.made, within: trial.patience + Trial.timeToGather)
                trial.expectSame(record, as: one.known, "among \(together.count) large loads with pauses")
            }
            if trial.areAllIdle { instance.end() }
        },
        ConformanceCheck("LOAD-03") { trial throws(Unjudged) in
            let instance = try trial.instance()
            instance.keepFew(since: 0)
            let known = try trial.known(.succeeds, of: instance, atMost: 8)
            for index in 0..<10_000 where trial.findings.isEmpty {
                let one = known[index % known.count]
                trial.expectSame(try trial.performHere(one.request, of: instance, one.script), as: one, "as load \(index + 1)")
            }
            instance.end()
        },
        ConformanceCheck("LOAD-04") { trial throws(Unjudged) in
            let plugin = try trial.plugin()
            let first = try trial.instance(of: plugin)
            for load in try trial.loads(.succeeds) {
                let known = try trial.known(load, trial.request(load.url), of: first)
                let record = try trial.settled(known.request, of: first, known.load) { () throws(Unjudged) in
                    let second = try trial.instance(of: plugin)
                    trial.expectSame(
                        try trial.perform(known.request, of: second, known.script), as: known, "in a second instance of the plugin")
                    second.end()
                }
                trial.expectSame(record, as: known, "where another instance begins and ends beside it")
            }
            if trial.areAllIdle { first.end() }
        },
        ConformanceCheck("LOAD-05") { trial throws(Unjudged) in
            let instance = try trial.instance()
            let known = try trial.loads(.succeeds).map { load throws(Unjudged) in
                let start = MonotonicTime.now
                _ = try trial.perform(trial.request(load.url), of: instance, Trial.script(for: load))
                return (load, time: MonotonicTime.now - start)
            }
            let waiting = try trial.loads(.hangs).map { load throws(Unjudged) in
                let made = try trial.make(trial.request(load.url), of: instance, Trial.script(for: load))
                try made.start()
                return made
            }
            Patience.watch(.milliseconds(20))
            for (load, time) in known {
                let limit = time + .seconds(1)
                if try trial.settled(trial.request(load.url), of: instance, Trial.script(for: load), within: limit) == nil {
                    trial.fail("'\(load.url)' took a second longer beside a load that hangs than alone")
                    break
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
