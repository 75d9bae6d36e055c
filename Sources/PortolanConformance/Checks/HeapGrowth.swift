// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// Shared code of the LEAK checks: measures the memory of many loads in sequence.
extension RuleCatalogue {
    /// A check that performs each redirecting load more times than a host follows redirects of one request. A cycle of
    /// redirects between servers multiplies the memory that each redirect leaves.
    static let redirectLoop = heapStaysConstant(.redirects, "redirects", longestRound: 60) { context, rounds throws(CheckSkipped) in
        try context.eachLoad(.redirects) { load, request, instance throws(CheckSkipped) in
            try rounds(load, instance) { _ throws(CheckSkipped) in
                let record = try context.performOnThisThread(request, of: instance, CheckContext.script(for: load))
                _ = try record.redirectIndex(load)
            }
        }
    }

    typealias OneLoad = (Int) throws(CheckSkipped) -> Void
    typealias Rounds = (ConformanceLoad, ProbedInstance, OneLoad) throws(CheckSkipped) -> Void

    /// Returns a check that fails if each round of loads of a URL leaves more heap in use than the round before.
    ///
    /// - Parameters:
    ///   - what: The plural noun for the loads, for messages.
    ///   - longestRound: The largest number of loads per round.
    ///   - measure: Calls its second argument for each load that it measures.
    static func heapStaysConstant(
        _ scenario: ConformanceRule.Scenario, _ what: String, longestRound: Int = 200,
        _ measure: @escaping @Sendable (CheckContext, Rounds) throws(CheckSkipped) -> Void
    ) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
            // The time for each URL. The division counts one URL more than there are, because a URL that leaks runs all
            // rounds, and must end within the time limit.
            let budget = try context.loadTimeLimit * 3 / (context.loads(scenario).count + 1)
            try measure(context) { load, instance, perform throws(CheckSkipped) in
                let keptCount = instance.keepAll()
                let growth = try CheckContext.heapGrowth(within: budget, longestRound: longestRound, perform) { () throws(CheckSkipped) in
                    // Performs up to 500 more loads, for at most 100 ms. Meanwhile, the memory that earlier loads
                    // borrowed stays valid, because a plugin can still use it (ORDER-12).
                    let deadline = MonotonicTime.now + .milliseconds(100)
                    for index in 0..<500 where MonotonicTime.now < deadline { try perform(index) }
                    instance.keepFew(since: keptCount)
                } orSkip: { reason in
                    CheckSkipped("'\(load.url)': one of the \(what) \(reason); give them more time with --timeout")
                }
                guard let growth else { return }
                context.fail(
                    "'\(load.url)': each of \(growth.rounds) rounds of \(growth.loadsPerRound) \(what) left \(growth.phrase), about \(growth.bytes / growth.loadsPerRound) each"
                )
            }
        }
    }
}

/// The growth of the used heap per round.
struct HeapGrowth {
    let rounds: Int
    /// The number of loads per round.
    let loadsPerRound: Int
    /// The smallest growth of one round, in bytes.
    let bytes: Int

    var phrase: String { "at least \(bytes) bytes of the heap in use" }

    fileprivate static let roundCount = 5
    /// The smallest number of loads per round, and the number per round for a measurement in another check.
    fileprivate static let (smallestRound, briefRound) = (40, 6)
}

extension CheckContext {
    /// Measures the growth of the used heap over rounds of many loads. Returns `nil` if one round leaves nearly
    /// nothing, because temporary memory, and memory that grows only once, are no leak.
    ///
    /// - Parameters:
    ///   - budget: The time limit for all rounds.
    ///   - perform: Performs one load; receives its index in the round.
    ///   - settle: Called once, after the first loads and before the measurement.
    ///   - skip: Makes the error if `budget` is too short for a result. Receives the reason, as in `takes 2 ms, …`.
    static func heapGrowth(
        within budget: Duration, longestRound: Int, _ perform: (Int) throws(CheckSkipped) -> Void,
        afterFirst settle: () throws(CheckSkipped) -> Void,
        orSkip skip: (_ reason: String) -> CheckSkipped
    ) throws(CheckSkipped) -> HeapGrowth? {
        let start = MonotonicTime.now
        var loadCount = 0
        while loadCount < min(20, longestRound), MonotonicTime.now - start < budget / 4 {
            try perform(loadCount)
            loadCount += 1
        }
        let timePerLoad = (MonotonicTime.now - start) / max(1, loadCount)
        let loadsPerRound = min(longestRound, Int(budget / (timePerLoad * (HeapGrowth.roundCount + 2))))
        guard loadsPerRound >= min(HeapGrowth.smallestRound, longestRound) else {
            throw skip("takes \(ValueFormatting.time(timePerLoad)), too long to measure many")
        }
        for index in 0..<loadsPerRound { try perform(index) }
        try settle()
        // One round is not measured, because it releases memory of earlier loads, which would hide its growth.
        for index in 0..<loadsPerRound { try perform(index) }
        var bytesBefore = ProcessResources.settledHeapBytes()
        var smallestGrowth = Int.max
        var round = 0
        // For a small growth per load, measure up to three times as long. Memory that another thread frees stays in
        // that thread's cache for a while (glibc.malloc.tcache_count), and the cache grows for some rounds on a busy
        // machine.
        let hasTime = { MonotonicTime.now - start < budget }
        while round < HeapGrowth.roundCount || (smallestGrowth < loadsPerRound * 160 && round < HeapGrowth.roundCount * 3 && hasTime()) {
            for index in 0..<loadsPerRound { try perform(index) }
            let bytesNow = ProcessResources.settledHeapBytes()
            (smallestGrowth, bytesBefore, round) = (min(smallestGrowth, bytesNow - bytesBefore), bytesNow, round + 1)
            // The limit is one smallest block (32 bytes) for every eighth load. A smaller growth is no leak of each
            // load.
            if smallestGrowth < loadsPerRound * 4 { return nil }
        }
        // Less than the smallest block for every other load, and no time to measure longer: the machine is busy.
        if smallestGrowth < loadsPerRound * 16, round < HeapGrowth.roundCount * 3 {
            throw skip("left about \(smallestGrowth / loadsPerRound) bytes, too few to tell a leak from other memory in the time")
        }
        return HeapGrowth(rounds: round, loadsPerRound: loadsPerRound, bytes: smallestGrowth)
    }

    /// Does the same as ``heapGrowth(within:longestRound:_:afterFirst:orSkip:)`` in another check, with short
    /// rounds.
    static func heapGrowth(
        within budget: Duration, _ perform: () throws(CheckSkipped) -> Void, afterFirst settle: () -> Void = {}
    ) throws(CheckSkipped) -> HeapGrowth? {
        try heapGrowth(within: budget, longestRound: HeapGrowth.briefRound) { _ throws(CheckSkipped) in
            try perform()
        } afterFirst: { () throws(CheckSkipped) in
            settle()
        } orSkip: { reason in
            CheckSkipped("it could not measure the heap: one round \(reason); give it more time with --timeout")
        }
    }
}

extension CheckContext {
    /// Does the same as ``requestAndScript(_:)``, but the script records no bodies. So the memory of the record does
    /// not depend on how many bytes a load delivered before its stop.
    func requestAndScriptWithoutBodies(_ load: ConformanceLoad) throws(CheckSkipped) -> (Request, ClientScript) {
        var (request, script) = try requestAndScript(load)
        script.omitsBodies = true
        return (request, script)
    }
}
