// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// LOAD: many parallel loads and instances.
extension RuleCatalogue {
    static let stress: [CheckedRule] = [
        .must(
            "LOAD-01", level: 4, needs: .succeeds,
            "If many loads run at once and random ones are stopped, the others have the same results as alone.",
            because: "Servers do this all day.",
            remedy: "Share nothing between loads."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            var random = SplitMix(seed: context.seed)
            let together = try context.together(context.known(.succeeds, of: instance, atMost: 8), 128, of: instance)
            let isStopped = together.map { _ in random.next() % 4 == 0 }
            for (one, isStopped) in zip(together, isStopped) where isStopped { one.made.stop() }
            for (one, isStopped) in zip(together, isStopped) {
                let record = context.settled(one.made, within: context.patience + CheckContext.timeToGather)
                if !isStopped || record == nil { context.expectSame(record, as: one.known, "among \(together.count) loads") }
            }
            if context.areAllIdle { instance.end() }
        },
        .must(
            "LOAD-02", level: 4, needs: .large,
            "64 loads of large bodies at once, with random pauses, have the right digests.",
            because: "Readers are slow at different times.",
            remedy: "Keep the position in each load."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            var random = SplitMix(seed: context.seed)
            let known = try context.known(.large, of: instance, atMost: 4)
            // As many in parallel as fit in memory, because the runner records their bodies.
            let largest = known.map(\.result.body.count).max() ?? 0
            let together = try context.together(known, max(4, min(64, (1 << 28) / max(1, largest))), of: instance) { script in
                script.pauses = random.element(of: [.none, .first, .each])
                script.pauseTime = .microseconds(Int64(random.next() % 3000))
                // A reader that is slow now and then.
                let slow = random.next() % 8
                script.whileDelivering = { event, _ in
                    if UInt64(event) % 8 == slow { Polling.watch(.microseconds(500)) }
                }
            }
            for one in together {
                let record = context.settled(one.made, within: context.patience + CheckContext.timeToGather)
                context.expectSame(record, as: one.known, "among \(together.count) large loads with pauses")
            }
            if context.areAllIdle { instance.end() }
        },
        .must(
            "LOAD-03", level: 4, needs: .succeeds,
            "10,000 small loads one after another all succeed.",
            because: "A small leak shows only after many loads.",
            remedy: "Free everything that a load used."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            instance.keepFew(since: 0)
            let known = try context.known(.succeeds, of: instance, atMost: 8)
            for index in 0..<10_000 where context.findings.isEmpty {
                let one = known[index % known.count]
                context.expectSame(try context.performHere(one.request, of: instance, one.script), as: one, "as load \(index + 1)")
            }
            instance.end()
        },
        .must(
            "LOAD-04", level: 4, needs: .succeeds,
            "Starting and ending another instance while loads run does no harm.",
            because: "Settings change while loads run.",
            remedy: "Keep state in each instance."
        ) { context throws(CheckSkipped) in
            let plugin = try context.plugin()
            let first = try context.instance(of: plugin)
            for load in try context.loads(.succeeds) {
                let known = try context.known(load, context.request(load.url), of: first)
                let record = try context.settled(known.request, of: first, known.load) { () throws(CheckSkipped) in
                    let second = try context.instance(of: plugin)
                    context.expectSame(
                        try context.perform(known.request, of: second, known.script), as: known, "in a second instance of the plugin")
                    second.end()
                }
                context.expectSame(record, as: known, "while another instance started and ended beside it")
            }
            if context.areAllIdle { first.end() }
        },
        .must(
            "LOAD-05", level: 4, needs: .hangs,
            "A load that hangs forever does not block other loads.",
            because: "Peers can disappear without a message.",
            remedy: "Share no thread that may block."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let known = try context.loads(.succeeds).map { load throws(CheckSkipped) in
                let start = MonotonicTime.now
                _ = try context.perform(context.request(load.url), of: instance, CheckContext.script(for: load))
                return (load, time: MonotonicTime.now - start)
            }
            let waiting = try context.loads(.hangs).map { load throws(CheckSkipped) in
                let made = try context.make(context.request(load.url), of: instance, CheckContext.script(for: load))
                try made.start()
                return made
            }
            Polling.watch(.milliseconds(20))
            for (load, time) in known {
                let limit = time + .seconds(1)
                if try context.settled(context.request(load.url), of: instance, CheckContext.script(for: load), within: limit) == nil {
                    context.fail("'\(load.url)' took a second longer beside a load that hangs than alone")
                    break
                }
            }
            for made in waiting {
                made.stop()
                _ = context.settled(made, within: .seconds(1))
            }
            if context.areAllIdle { instance.end() }
        },
    ]
}
