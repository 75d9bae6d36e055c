// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import Synchronization

/// PERF: memory and time.
extension RuleCatalogue {
    static let performance: [CheckedRule] = [
        .should(
            "PERF-01", level: 5, needs: .succeeds,
            "A small load costs at most ten times as much as one of the reference handler in the same run.",
            because: "Small loads are the most frequent.",
            remedy: "Measure, and remove copies and look-ups.", needsProcess: true
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.succeeds) { load, request, instance throws(CheckSkipped) in
                // Measures processor time, so that the time of a peer does not count.
                let length = try context.perform(request, of: instance, CheckContext.script(for: load)).body.count
                let reference = try ReferenceHandler.instance(length: length, on: context.instanceContext)
                let referenceTime = try context.time(of: Request.reference, of: reference, ClientScript())
                let time = try context.time(of: request, of: instance, CheckContext.script(for: load))
                if time > max(referenceTime * 10, .microseconds(100)) {
                    context.fail(
                        "'\(load.url)' takes \(ValueFormatting.time(time)), and a load of the reference handler \(ValueFormatting.time(referenceTime))"
                    )
                }
            }
        },
        .should(
            "PERF-02", level: 5, needs: .large,
            "A large body arrives at a tenth of the reference handler's speed or more, in the same run.",
            because: "Bytes are the purpose of a load.",
            remedy: "Deliver in pieces of 64 KiB.", needsProcess: true
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.large) { load, request, instance throws(CheckSkipped) in
                var script = CheckContext.script(for: load)
                let length = try context.perform(request, of: instance, script).body.count
                guard length >= 1 << 20 else { throw CheckSkipped.notApplicable("'\(load.url)' has no body of 1 MiB") }
                script.omitsBodies = true
                let reference = try ReferenceHandler.instance(length: length, on: context.instanceContext)
                let referenceTime = try context.time(of: Request.reference, of: reference, script, rounds: 3, by: { MonotonicTime.now })
                let time = try context.time(of: request, of: instance, script, rounds: 3, by: { MonotonicTime.now })
                if time > referenceTime * 10 {
                    context.fail(
                        "'\(load.url)' takes \(ValueFormatting.time(time)) for \(length >> 10) KiB, and the reference handler \(ValueFormatting.time(referenceTime))"
                    )
                }
            }
        },
        .should(
            "PERF-03", level: 5, needs: .large,
            "While a slow reader takes a large body, peak memory is less than 16 MiB above idle.",
            because: "A hundred such loads must fit into memory.",
            remedy: "Stop reading while the reader is slow.", needsProcess: true
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.large) { load, request, instance throws(CheckSkipped) in
                _ = try context.recordOfStoppedLoad(request, of: instance, atEvent: 2, CheckContext.script(for: load))
                let before = ProcessResources.residentBytes()
                let peak = Mutex(0)
                var script = CheckContext.script(for: load)
                // The reader is slow for the first pieces, and then stops the load.
                script.stopEventIndex = 6
                script.whileDelivering = { _, _ in
                    Polling.sleep(.milliseconds(20))
                    peak.withLock { $0 = max($0, ProcessResources.residentBytes() - before) }
                }
                _ = try context.recordWhenIdle(request, of: instance, script)
                let growth = peak.withLock(\.self)
                if growth > 16 << 20 {
                    context.fail("'\(load.url)' took \(growth >> 20) MiB of memory while a slow reader took the first pieces of the body")
                }
            }
        },
        .should(
            "PERF-04", level: 5, needs: .large,
            "The load delivers the first byte before the last one has arrived.",
            because: "Users see a page while it is loading.",
            remedy: "Deliver bytes as they arrive."
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.large) { load, request, instance throws(CheckSkipped) in
                // Performs a load that is not measured, because only the first load has some costs.
                _ = try context.recordOfStoppedLoad(request, of: instance, atEvent: 0, CheckContext.script(for: load))
                let times = Mutex((first: Duration?.none, last: Duration.zero))
                var script = CheckContext.script(for: load)
                let start = MonotonicTime.now
                script.whileDelivering = { _, call in
                    guard case .data = call else { return }
                    times.withLock { times in
                        times.last = MonotonicTime.now - start
                        times.first = times.first ?? times.last
                    }
                }
                _ = try context.perform(request, of: instance, script)
                let (first, last) = times.withLock(\.self)
                guard let first else { throw CheckSkipped("'\(load.url)' delivered no bytes") }
                if first > .milliseconds(20), first > last * 9 / 10 {
                    context.fail(
                        "'\(load.url)': the first byte came after \(ValueFormatting.time(first)), the last after \(ValueFormatting.time(last))"
                    )
                }
            }
        },
        .must(
            "PERF-05", level: 5, needs: .large,
            "A hundred paused loads use no processor time.",
            because: "Phones must be able to sleep.",
            remedy: "Wait for 'resume'.", needsProcess: true
        ) { context throws(CheckSkipped) in
            try context.eachLoad(.large) { load, request, instance throws(CheckSkipped) in
                var pausedLoads: [ProbedLoad] = []
                defer {
                    for probedLoad in pausedLoads { probedLoad.stop() }
                    for probedLoad in pausedLoads { _ = context.recordWhenIdle(probedLoad, within: .seconds(1)) }
                }
                for index in 0..<100 {
                    pausedLoads.append(try context.pausedLoad(request, of: instance, load, at: index % 2 == 0 ? .first : .body))
                }
                let time = ProcessResources.processorTimeAtRest()
                if time > .milliseconds(10) {
                    context.fail("'\(load.url)': a hundred paused loads used \(ValueFormatting.time(time)) of processor time in 200 ms")
                }
            }
        },
    ]
}

extension CheckContext {
    /// The shortest time of several loads from `make` to `destroy`, by default as processor time.
    fileprivate func time(
        of request: Request, of instance: ProbedInstance, _ script: ClientScript, rounds: Int = 20,
        by clock: () -> Duration = ProcessResources.processorTime
    ) throws(CheckSkipped) -> Duration {
        var shortest = Duration.seconds(3600)
        for _ in 0..<rounds {
            let start = clock()
            let record = try performOnThisThread(request, of: instance, script)
            if !record.didFinish { throw CheckSkipped("\(request.url.shortDescription) did not finish (LIFE-02)") }
            shortest = min(shortest, clock() - start)
        }
        return shortest
    }
}
