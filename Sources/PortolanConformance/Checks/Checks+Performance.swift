// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins
import Synchronization

/// PERF: memory and time.
extension ConformanceCheck {
    static let performance: [ConformanceCheck] = [
        ConformanceCheck("PERF-01", needsProcess: true) { trial throws(Unjudged) in
            try trial.eachLoad(.succeeds) { load, request, instance throws(Unjudged) in
                // Of processors: how long a peer takes is no cost.
                let length = try trial.perform(request, of: instance, Trial.script(for: load)).body.count
                let reference = try ReferenceHandler.instance(length: length, on: trial.bench)
                let usual = try trial.time(of: Request.reference, of: reference, ClientScript())
                let time = try trial.time(of: request, of: instance, Trial.script(for: load))
                if time > max(usual * 10, .microseconds(100)) {
                    trial.fail("'\(load.url)' takes \(Words.time(time)), and a load of the reference handler \(Words.time(usual))")
                }
            }
        },
        ConformanceCheck("PERF-02", needsProcess: true) { trial throws(Unjudged) in
            try trial.eachLoad(.large) { load, request, instance throws(Unjudged) in
                var script = Trial.script(for: load)
                let length = try trial.perform(request, of: instance, script).body.count
                guard length >= 1 << 20 else { throw Unjudged.other("'\(load.url)' has no body of a mebibyte") }
                script.isTerse = true
                let reference = try ReferenceHandler.instance(length: length, on: trial.bench)
                let usual = try trial.time(of: Request.reference, of: reference, script, rounds: 3, by: { MonotonicTime.now })
                let time = try trial.time(of: request, of: instance, script, rounds: 3, by: { MonotonicTime.now })
                if time > usual * 10 {
                    trial.fail(
                        "'\(load.url)' takes \(Words.time(time)) for \(length >> 10) KiB, and the reference handler \(Words.time(usual))")
                }
            }
        },
        ConformanceCheck("PERF-03", needsProcess: true) { trial throws(Unjudged) in
            try trial.eachLoad(.large) { load, request, instance throws(Unjudged) in
                _ = try trial.stopped(request, of: instance, atEvent: 2, Trial.script(for: load))
                let before = ProcessCensus.residentBytes()
                let peak = Mutex(0)
                var script = Trial.script(for: load)
                // A reader that takes its time for the first runs, and wants no more.
                script.stopsAt = 6
                script.whileDelivering = { _, _ in
                    Patience.watch(.milliseconds(20))
                    peak.withLock { $0 = max($0, ProcessCensus.residentBytes() - before) }
                }
                _ = try trial.settled(request, of: instance, script)
                let growth = peak.withLock(\.self)
                if growth > 16 << 20 {
                    trial.fail("'\(load.url)' took \(growth >> 20) MiB of memory while a slow reader took its first runs")
                }
            }
        },
        ConformanceCheck("PERF-04") { trial throws(Unjudged) in
            try trial.eachLoad(.large) { load, request, instance throws(Unjudged) in
                // What comes with the first load alone is not meant.
                _ = try trial.stopped(request, of: instance, atEvent: 0, Trial.script(for: load))
                let times = Mutex((first: Duration?.none, last: Duration.zero))
                var script = Trial.script(for: load)
                let start = MonotonicTime.now
                script.whileDelivering = { _, call in
                    guard case .data = call else { return }
                    times.withLock { times in
                        times.last = MonotonicTime.now - start
                        times.first = times.first ?? times.last
                    }
                }
                _ = try trial.perform(request, of: instance, script)
                let (first, last) = times.withLock(\.self)
                guard let first else { throw Unjudged("'\(load.url)' gave no byte") }
                if first > .milliseconds(20), first > last * 9 / 10 {
                    trial.fail("'\(load.url)': the first byte came after \(Words.time(first)), the last after \(Words.time(last))")
                }
            }
        },
        ConformanceCheck("PERF-05", needsProcess: true) { trial throws(Unjudged) in
            try trial.eachLoad(.large) { load, request, instance throws(Unjudged) in
                var paused: [JudgedLoad] = []
                defer {
                    for made in paused { made.stop() }
                    for made in paused { _ = trial.settled(made, within: .seconds(1)) }
                }
                for index in 0..<100 {
                    paused.append(try trial.held(request, of: instance, load, at: index % 2 == 0 ? .first : .body))
                }
                let time = ProcessCensus.processorTimeAtRest()
                if time > .milliseconds(10) {
                    trial.fail("'\(load.url)': a hundred paused loads took \(Words.time(time)) of processor time in 200 ms")
                }
            }
        },
    ]
}

extension Trial {
    /// The least time of several loads, by default of processors, each from its making to its destruction.
    fileprivate func time(
        of request: Request, of instance: JudgedInstance, _ script: ClientScript, rounds: Int = 20,
        by clock: () -> Duration = ProcessCensus.processorTime
    ) throws(Unjudged) -> Duration {
        var shortest = Duration.seconds(3600)
        for _ in 0..<rounds {
            let start = clock()
            let record = try performHere(request, of: instance, script)
            if !record.didFinish { throw Unjudged("\(request.url.shortDescription) did not finish (LIFE-02)") }
            shortest = min(shortest, clock() - start)
        }
        return shortest
    }
}
