// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// LOAD: many parallel loads and instances.
extension RuleCatalogue {
    static let stress: [CheckedRule] = [
        .must(
            "LOAD-01", level: 4, needs: .succeeds,
            "If many loads run at the same time and random ones are stopped, the others have the same results as alone.",
            because: "Servers do this all day.",
            remedy: "Share nothing between loads."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            var random = SplitMix(seed: context.seed)
            let concurrentLoads = try context.startConcurrently(context.baseline(.succeeds, of: instance, atMost: 8), 128, of: instance)
            let isStopped = concurrentLoads.map { _ in random.next() % 4 == 0 }
            for (concurrentLoad, isStopped) in zip(concurrentLoads, isStopped) where isStopped { concurrentLoad.probedLoad.stop() }
            for (concurrentLoad, isStopped) in zip(concurrentLoads, isStopped) {
                let record = context.recordWhenIdle(concurrentLoad.probedLoad, within: context.loadTimeLimit + CheckContext.timeToGather)
                if !isStopped || record == nil {
                    context.expectSame(record, as: concurrentLoad.baseline, "among \(concurrentLoads.count) loads")
                }
            }
            if context.areAllLoadsIdle { instance.end() }
        },
        .must(
            "LOAD-02", level: 4, needs: .large,
            "64 loads of large bodies at the same time, with random pauses, have the right digests.",
            because: "Readers are slow at different times.",
            remedy: "Keep the position in each load."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            var random = SplitMix(seed: context.seed)
            let baseline = try context.baseline(.large, of: instance, atMost: 4)
            // The number of parallel loads is limited, because the runner records their bodies in memory.
            let largest = baseline.map(\.result.body.count).max() ?? 0
            let concurrentLoads = try context.startConcurrently(baseline, max(4, min(64, (1 << 28) / max(1, largest))), of: instance) {
                script in
                script.pauses = random.element(of: [.none, .first, .each])
                script.pauseTime = .microseconds(Int64(random.next() % 3000))
                // The reader is slow at every eighth event.
                let slowRemainder = random.next() % 8
                script.whileDelivering = { event, _ in
                    if UInt64(event) % 8 == slowRemainder { Polling.sleep(.microseconds(500)) }
                }
            }
            for concurrentLoad in concurrentLoads {
                let record = context.recordWhenIdle(concurrentLoad.probedLoad, within: context.loadTimeLimit + CheckContext.timeToGather)
                context.expectSame(record, as: concurrentLoad.baseline, "among \(concurrentLoads.count) large loads with pauses")
            }
            if context.areAllLoadsIdle { instance.end() }
        },
        .must(
            "LOAD-03", level: 4, needs: .succeeds,
            "10,000 small loads one after another all succeed.",
            because: "A small leak shows only after many loads.",
            remedy: "Free everything that a load used."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            instance.keepFew(since: 0)
            let baseline = try context.baseline(.succeeds, of: instance, atMost: 8)
            for index in 0..<10_000 where context.findings.isEmpty {
                let baselineLoad = baseline[index % baseline.count]
                context.expectSame(
                    try context.performOnThisThread(baselineLoad.request, of: instance, baselineLoad.script), as: baselineLoad,
                    "as load \(index + 1)")
            }
            instance.end()
        },
        .must(
            "LOAD-04", level: 4, needs: .succeeds,
            "Starting and ending another instance while loads run does not change the results of the loads.",
            because: "Settings change while loads run.",
            remedy: "Keep state in each instance."
        ) { context throws(CheckSkipped) in
            let plugin = try context.plugin()
            let first = try context.instance(of: plugin)
            for load in try context.loads(.succeeds) {
                let baseline = try context.baseline(load, context.request(load.url), of: first)
                let record = try context.recordWhenIdle(baseline.request, of: first, baseline.load) { () throws(CheckSkipped) in
                    let second = try context.instance(of: plugin)
                    context.expectSame(
                        try context.perform(baseline.request, of: second, baseline.script), as: baseline,
                        "in a second instance of the plugin")
                    second.end()
                }
                context.expectSame(record, as: baseline, "while another instance started and ended beside it")
            }
            if context.areAllLoadsIdle { first.end() }
        },
        .must(
            "LOAD-05", level: 4, needs: .hangs,
            "A load that hangs forever does not block other loads.",
            because: "Peers can disappear without a message.",
            remedy: "Share no thread that may block."
        ) { context throws(CheckSkipped) in
            let instance = try context.instance()
            let baseline = try context.loads(.succeeds).map { load throws(CheckSkipped) in
                let start = MonotonicTime.now
                _ = try context.perform(context.request(load.url), of: instance, CheckContext.script(for: load))
                return (load, time: MonotonicTime.now - start)
            }
            let hangingLoads = try context.loads(.hangs).map { load throws(CheckSkipped) in
                let probedLoad = try context.make(context.request(load.url), of: instance, CheckContext.script(for: load))
                try probedLoad.start()
                return probedLoad
            }
            Polling.sleep(.milliseconds(20))
            for (load, time) in baseline {
                let limit = time + .seconds(1)
                if try context.recordWhenIdle(context.request(load.url), of: instance, CheckContext.script(for: load), within: limit) == nil
                {
                    context.fail("'\(load.url)' took a second longer beside a load that hangs than alone")
                    break
                }
            }
            for probedLoad in hangingLoads {
                probedLoad.stop()
                _ = context.recordWhenIdle(probedLoad, within: .seconds(1))
            }
            if context.areAllLoadsIdle { instance.end() }
        },
    ]
}
