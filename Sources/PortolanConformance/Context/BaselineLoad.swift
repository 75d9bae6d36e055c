// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// A load, and what it comes to alone, where nothing is done to it.
struct BaselineLoad {
    let load: ConformanceLoad
    let request: Request
    let result: LoadResult

    /// As its manifest has it answered.
    var script: ClientScript { CheckContext.script(for: load) }
}

extension CheckContext {
    /// The first loads of `scenario`, each performed once.
    func known(
        _ scenario: ConformanceRule.Scenario, of instance: ProbedInstance, atMost count: Int = .max
    ) throws(CheckSkipped) -> [BaselineLoad] {
        try loads(scenario).prefix(count).map { load throws(CheckSkipped) in try known(load, try request(load.url), of: instance) }
    }

    func known(_ load: ConformanceLoad, _ request: Request, of instance: ProbedInstance) throws(CheckSkipped) -> BaselineLoad {
        BaselineLoad(load: load, request: request, result: LoadResult(try perform(request, of: instance, Self.script(for: load))))
    }

    /// How long loads wait for each other at most.
    static let timeToGather = Duration.seconds(2)

    /// Starts `count` loads, one after another of `known`, each of which waits at its first event for the others, at most for ``timeToGather``; one that lets a
    /// few begin at a time waits no longer.
    func together(
        _ known: [BaselineLoad], _ count: Int, of instance: ProbedInstance, arrange: (inout ClientScript) -> Void = { _ in }
    ) throws(CheckSkipped) -> [(known: BaselineLoad, made: ProbedLoad)] {
        let begun = ConditionLock((count: 0, gate: Duration.zero))
        let together = try (0..<count).map { index throws(CheckSkipped) in
            let one = known[index % known.count]
            var script = one.script
            arrange(&script)
            let others = script.whileDelivering
            script.whileDelivering = { event, call in
                if event == 0 {
                    let gate = begun.withLockBroadcasting { state in
                        state.count += 1
                        return state.gate
                    }
                    _ = begun.wait(atMost: max(.zero, gate - MonotonicTime.now)) { $0.count >= count ? true : nil }
                }
                others?(event, call)
            }
            return (known: one, made: try make(one.request, of: instance, script))
        }
        begun.withLock { $0.gate = MonotonicTime.now + Self.timeToGather }
        for one in together { try one.made.start() }
        return together
    }

    /// Fails where `record` is not what the load comes to alone; `nil`: it did not come to rest.
    func expectSame(_ record: LoadRecord?, as known: BaselineLoad, _ circumstances: String) {
        guard let record else { return fail("'\(known.load.url)' did not end \(circumstances)") }
        let found = LoadResult(record)
        if found != known.result, !varies(known.load) {
            fail("'\(known.load.url)' gives \(found.words) \(circumstances), and \(known.result.words) alone, or other bytes")
        }
    }
}
