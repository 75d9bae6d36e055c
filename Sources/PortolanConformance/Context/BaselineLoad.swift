// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// A load, and its result when it runs alone and undisturbed.
struct BaselineLoad {
    let load: ConformanceLoad
    let request: Request
    let result: LoadResult

    /// The client script that the manifest requires for the load.
    var script: ClientScript { CheckContext.script(for: load) }
}

extension CheckContext {
    /// Performs each of the first `count` loads of `scenario` once, and returns the results.
    func baseline(
        _ scenario: ConformanceRule.Scenario, of instance: ProbedInstance, atMost count: Int = .max
    ) throws(CheckSkipped) -> [BaselineLoad] {
        try loads(scenario).prefix(count).map { load throws(CheckSkipped) in try baseline(load, try request(load.url), of: instance) }
    }

    func baseline(_ load: ConformanceLoad, _ request: Request, of instance: ProbedInstance) throws(CheckSkipped) -> BaselineLoad {
        BaselineLoad(load: load, request: request, result: LoadResult(try perform(request, of: instance, Self.script(for: load))))
    }

    /// The longest time that loads wait for each other.
    static let timeToGather = Duration.seconds(2)

    /// Starts `count` loads that cycle through `baseline`. Each waits at its first event for the others, at most until
    /// ``timeToGather`` has passed since the start. So a plugin that begins only a few loads at a time waits no longer.
    func startConcurrently(
        _ baseline: [BaselineLoad], _ count: Int, of instance: ProbedInstance, arrange: (inout ClientScript) -> Void = { _ in }
    ) throws(CheckSkipped) -> [(baseline: BaselineLoad, probedLoad: ProbedLoad)] {
        let startedLoads = ConditionLock((count: 0, gatherDeadline: Duration.zero))
        let concurrentLoads = try (0..<count).map { index throws(CheckSkipped) in
            let baselineLoad = baseline[index % baseline.count]
            var script = baselineLoad.script
            arrange(&script)
            let nextAction = script.whileDelivering
            script.whileDelivering = { event, call in
                if event == 0 {
                    let gatherDeadline = startedLoads.withLockBroadcasting { state in
                        state.count += 1
                        return state.gatherDeadline
                    }
                    _ = startedLoads.wait(atMost: max(.zero, gatherDeadline - MonotonicTime.now)) { $0.count >= count ? true : nil }
                }
                nextAction?(event, call)
            }
            return (baseline: baselineLoad, probedLoad: try make(baselineLoad.request, of: instance, script))
        }
        startedLoads.withLock { $0.gatherDeadline = MonotonicTime.now + Self.timeToGather }
        for baselineLoad in concurrentLoads { try baselineLoad.probedLoad.start() }
        return concurrentLoads
    }

    /// Reports a finding if `record` differs from the result of the load alone, or is `nil` because the load did not
    /// become idle.
    func expectSame(_ record: LoadRecord?, as baseline: BaselineLoad, _ circumstances: String) {
        guard let record else { return fail("'\(baseline.load.url)' did not end \(circumstances)") }
        let result = LoadResult(record)
        if result != baseline.result, !varies(baseline.load) {
            fail("'\(baseline.load.url)' gave \(result.phrase) \(circumstances), but \(baseline.result.phrase) alone, or different bytes")
        }
    }
}
