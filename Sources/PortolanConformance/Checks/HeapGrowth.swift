// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// What the checks of LEAK share: the memory of many loads in sequence.
extension RuleCatalogue {
    /// More redirects than any host follows. A redirect cycle between servers multiplies the memory that each redirect
    /// leaves.
    static let redirectLoop = flat(.redirects, "redirects", longestRound: 60) { context, rounds throws(CheckSkipped) in
        try context.eachLoad(.redirects) { load, request, instance throws(CheckSkipped) in
            try rounds(load, instance) { _ throws(CheckSkipped) in
                let record = try context.performHere(request, of: instance, CheckContext.script(for: load))
                _ = try record.placeOfRedirect(load)
            }
        }
    }

    typealias OneLoad = (Int) throws(CheckSkipped) -> Void
    typealias Rounds = (ConformanceLoad, ProbedInstance, OneLoad) throws(CheckSkipped) -> Void

    /// Fails if each round of loads of a URL leaves more heap in use than the one before.
    static func flat(
        _ scenario: ConformanceRule.Scenario, _ what: String, longestRound: Int = 200,
        _ measure: @escaping @Sendable (CheckContext, Rounds) throws(CheckSkipped) -> Void
    ) -> ConformanceCheck.Body {
        { context throws(CheckSkipped) in
            // The share of each URL, as if there were one more, because a URL that leaks runs all rounds and must end
            // within the time limit.
            let budget = try context.loadTimeLimit * 3 / (context.loads(scenario).count + 1)
            try measure(context) { load, instance, perform throws(CheckSkipped) in
                let kept = instance.keepAll()
                let left = try CheckContext.heapGrowth(within: budget, longestRound: longestRound, perform) { () throws(CheckSkipped) in
                    // As many more loads as fit in a tenth of a second. What they borrowed stays for that long, for a
                    // plugin that uses it late (ORDER-12).
                    let end = MonotonicTime.now + .milliseconds(100)
                    for index in 0..<500 where MonotonicTime.now < end { try perform(index) }
                    instance.keepFew(since: kept)
                } orTooSlow: { time in
                    CheckSkipped("one of the \(what) of '\(load.url)' takes \(time), too long for many; give them more time with --timeout")
                }
                guard let left else { return }
                context.fail(
                    "'\(load.url)': each of \(left.rounds) rounds of \(left.length) \(what) left \(left.phrase), about \(left.bytes / left.length) each"
                )
            }
        }
    }
}

/// The growth of the used heap per round.
struct HeapGrowth {
    let rounds: Int
    /// The number of loads per round.
    let length: Int
    /// The smallest growth of a round, in bytes.
    let bytes: Int

    var phrase: String { "at least \(bytes) bytes of the heap in use" }

    fileprivate static let roundCount = 5
    /// The smallest number of loads per round, and the number beside another check whose subject has no thread, so that
    /// every load shows there.
    fileprivate static let (smallestRound, briefRound) = (40, 6)
}

extension CheckContext {
    /// Measures the growth of the used heap over rounds of many loads; `nil` if one round leaves nearly nothing.
    /// Temporary memory, and memory that grows once, are no leak.
    ///
    /// - Parameters:
    ///   - budget: The time for all rounds; without a leak they take less.
    ///   - settle: Called after the first loads.
    ///   - problem: Makes the error if one load takes too long for enough rounds.
    static func heapGrowth(
        within budget: Duration, longestRound: Int, _ perform: (Int) throws(CheckSkipped) -> Void,
        afterFirst settle: () throws(CheckSkipped) -> Void,
        orTooSlow problem: (_ time: String) -> CheckSkipped
    ) throws(CheckSkipped) -> HeapGrowth? {
        let start = MonotonicTime.now
        var turns = 0
        while turns < min(20, longestRound), MonotonicTime.now - start < budget / 4 {
            try perform(turns)
            turns += 1
        }
        let perTurn = (MonotonicTime.now - start) / max(1, turns)
        let length = min(longestRound, Int(budget / (perTurn * (HeapGrowth.roundCount + 2))))
        guard length >= min(HeapGrowth.smallestRound, longestRound) else { throw problem(ValueFormatting.time(perTurn)) }
        for index in 0..<length { try perform(index) }
        try settle()
        // Memory from before is released during one round, and would hide the growth of that round.
        for index in 0..<length { try perform(index) }
        var before = ProcessResources.settledHeapBytes()
        var least = Int.max
        var round = 0
        // For a small growth per load, measure up to three times as long. Memory that another thread frees stays in
        // that thread's cache for a while (glibc.malloc.tcache_count), and the cache grows for some rounds on a busy
        // machine.
        let hasTime = { MonotonicTime.now - start < budget }
        while round < HeapGrowth.roundCount || (least < length * 160 && round < HeapGrowth.roundCount * 3 && hasTime()) {
            for index in 0..<length { try perform(index) }
            let now = ProcessResources.settledHeapBytes()
            (least, before, round) = (min(least, now - before), now, round + 1)
            // Every eighth load leaves the smallest possible block (32 bytes). Less is no leak per load, and will not
            // become more.
            if least < length * 4 { return nil }
        }
        // Less than the smallest block for every other load, and no time to measure longer: the machine is busy.
        if least < length * 16, round < HeapGrowth.roundCount * 3 { throw problem(ValueFormatting.time(perTurn)) }
        return HeapGrowth(rounds: round, length: length, bytes: least)
    }

    /// Does the same as ``heapGrowth(within:longestRound:_:afterFirst:orTooSlow:)`` beside another check; `nil` also if
    /// there is not enough time.
    static func heapGrowth(
        within budget: Duration, _ perform: () throws(CheckSkipped) -> Void, afterFirst settle: () -> Void = {}
    ) -> HeapGrowth? {
        // `try?` because the result of the other check stays valid.
        let growth = try? heapGrowth(within: budget, longestRound: HeapGrowth.briefRound) { _ throws(CheckSkipped) in
            try perform()
        } afterFirst: { () throws(CheckSkipped) in
            settle()
        } orTooSlow: {
            CheckSkipped($0)
        }
        return growth.flatMap { $0 }
    }
}

extension CheckContext {
    /// Does the same as ``requestAndScript(_:)``, without recording bodies. So the counts do not depend on how far a
    /// load came before its stop.
    func terseRequestAndScript(_ load: ConformanceLoad) throws(CheckSkipped) -> (Request, ClientScript) {
        var (request, script) = try requestAndScript(load)
        script.isTerse = true
        return (request, script)
    }
}
