// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanPlugins

/// LEAK: memory of many loads, one after another.
extension ConformanceCheck {
    static let heap: [ConformanceCheck] = [
        flat("LEAK-01", .any, "loads") { trial, rounds throws(Unjudged) in
            try trial.eachLoad(.any) { load, _, instance throws(Unjudged) in
                try rounds(load, instance) { _ throws(Unjudged) in
                    let (request, script) = try trial.terseScene(load)
                    _ = try trial.performHere(request, of: instance, script)
                }
            }
        },
        flat("LEAK-05", .any, "loads that were stopped") { trial, rounds throws(Unjudged) in
            func judge(_ scenario: ConformanceRule.Scenario) throws(Unjudged) {
                try trial.eachLoad(scenario) { load, _, instance throws(Unjudged) in
                    try rounds(load, instance) { index throws(Unjudged) in
                        var (request, script) = try trial.terseScene(load)
                        // At each of the first events, while a question waits, or at any moment; and one that never began.
                        if scenario != .hangs, index % 6 < 4 {
                            script.stopsAt = index % 6
                            _ = try trial.performHere(request, of: instance, script)
                            return
                        }
                        if index % 12 == 5, load.tags.contains(.challenges) {
                            guard try trial.stoppedWaiting(request, of: instance, script) == nil else { return }
                            throw Unjudged("'\(load.url)' did not come to rest after a stop while it was asked (CANCEL-06)")
                        }
                        let made = try trial.make(request, of: instance, script)
                        if index % 6 != 4 { try made.start() }
                        made.stop()
                        guard trial.settled(made, within: trial.shortPatience) != nil else {
                            throw Unjudged("'\(load.url)' did not come to rest after a stop (CANCEL-04, ORDER-07)")
                        }
                    }
                }
            }
            try judge(.any)
            if (try? trial.loads(.hangs)) != nil { try judge(.hangs) }  // because a manifest without one has others
        },
        flat("LEAK-06", .fails, "loads that failed") { trial, rounds throws(Unjudged) in
            try trial.eachLoad(.fails) { load, _, instance throws(Unjudged) in
                try rounds(load, instance) { _ throws(Unjudged) in
                    let (request, script) = try trial.terseScene(load)
                    _ = try trial.performHere(request, of: instance, script)
                }
            }
        },
        redirectLoop,
    ]

    /// As many redirects as no host follows: what each of them leaves, a circle of servers multiplies.
    private static let redirectLoop = flat("REDIR-05", .redirects, "redirects", longestRound: 60) { trial, rounds throws(Unjudged) in
        try trial.eachLoad(.redirects) { load, request, instance throws(Unjudged) in
            try rounds(load, instance) { _ throws(Unjudged) in
                let record = try trial.performHere(request, of: instance, Trial.script(for: load))
                _ = try record.placeOfRedirect(load)
            }
        }
    }

    private typealias OneLoad = (Int) throws(Unjudged) -> Void
    private typealias Rounds = (ConformanceLoad, JudgedInstance, OneLoad) throws(Unjudged) -> Void

    /// Fails where each round of loads of a URL leaves more of the heap in use than the one before.
    private static func flat(
        _ id: String, _ scenario: ConformanceRule.Scenario, _ what: String, longestRound: Int = 200,
        _ judge: @escaping @Sendable (Trial, Rounds) throws(Unjudged) -> Void
    ) -> ConformanceCheck {
        ConformanceCheck(id, needsProcess: true) { trial throws(Unjudged) in
            // What is left for each URL, as if there were one more: one that leaks makes all of the rounds, which is to end before the time does.
            let budget = try trial.patience * 3 / (trial.loads(scenario).count + 1)
            try judge(trial) { load, instance, perform throws(Unjudged) in
                let kept = instance.keepAll()
                let left = try Trial.heapGrowth(within: budget, longestRound: longestRound, perform) { () throws(Unjudged) in
                    // As many more as a tenth of a second has: what each of them was lent stays for that long, for a plugin that looks at it late (ORDER-12).
                    let end = MonotonicTime.now + .milliseconds(100)
                    for index in 0..<500 where MonotonicTime.now < end { try perform(index) }
                    instance.keepFew(since: kept)
                } orTooSlow: { time in
                    Unjudged("one of the \(what) of '\(load.url)' takes \(time), too long for many; --timeout gives more")
                }
                guard let left else { return }
                trial.fail(
                    "'\(load.url)': each of \(left.rounds) rounds of \(left.length) \(what) left \(left.words), about \(left.bytes / left.length) each"
                )
            }
        }
    }
}

/// What each of many rounds leaves of the heap in use.
struct HeapGrowth {
    let rounds: Int
    /// Of a round, in turns.
    let length: Int
    /// At least, of each round.
    let bytes: Int

    var words: String { "\(bytes) bytes of the heap in use at least" }

    fileprivate static let roundCount = 5
    /// How many turns a round has at least, and how many where something else was judged, and what is looked at has no thread: each turn shows there.
    fileprivate static let (smallestRound, briefRound) = (40, 6)
}

extension Trial {
    /// How much rounds of many turns leave of the heap in use; `nil` where one leaves as much as nothing. What comes and goes, or grows once, is no leak.
    ///
    /// - Parameters:
    ///   - budget: the time for all of the rounds; one that leaves nothing takes less.
    ///   - settle: called after the first turns.
    ///   - problem: says that a turn takes too long for as many as say something.
    static func heapGrowth(
        within budget: Duration, longestRound: Int, _ perform: (Int) throws(Unjudged) -> Void,
        afterFirst settle: () throws(Unjudged) -> Void,
        orTooSlow problem: (_ time: String) -> Unjudged
    ) throws(Unjudged) -> HeapGrowth? {
        let start = MonotonicTime.now
        var turns = 0
        while turns < min(20, longestRound), MonotonicTime.now - start < budget / 4 {
            try perform(turns)
            turns += 1
        }
        let perTurn = (MonotonicTime.now - start) / max(1, turns)
        let length = min(longestRound, Int(budget / (perTurn * (HeapGrowth.roundCount + 2))))
        guard length >= min(HeapGrowth.smallestRound, longestRound) else { throw problem(Words.time(perTurn)) }
        for index in 0..<length { try perform(index) }
        try settle()
        // What came before goes in the course of a round, and would hide what this one leaves.
        for index in 0..<length { try perform(index) }
        var before = ProcessCensus.settledHeapBytes()
        var least = Int.max
        var round = 0
        // For little of each turn it is looked at up to three times as long: what another thread frees stays in that thread's cache for a while
        // (glibc.malloc.tcache_count), which grows for some rounds on a busy machine.
        let hasTime = { MonotonicTime.now - start < budget }
        while round < HeapGrowth.roundCount || (least < length * 160 && round < HeapGrowth.roundCount * 3 && hasTime()) {
            for index in 0..<length { try perform(index) }
            let now = ProcessCensus.settledHeapBytes()
            (least, before, round) = (min(least, now - before), now, round + 1)
            // Every eighth turn leaves the smallest block that there is (32 bytes): less is no leak of turns, and it will not become more.
            if least < length * 4 { return nil }
        }
        // Less than the smallest block of every other turn, and no time to see whether it goes on: the machine is busy.
        if least < length * 16, round < HeapGrowth.roundCount * 3 { throw problem(Words.time(perTurn)) }
        return HeapGrowth(rounds: round, length: length, bytes: least)
    }

    /// As ``heapGrowth(within:longestRound:_:afterFirst:orTooSlow:)`` beside something that was judged; `nil` also where there is no time for it.
    static func heapGrowth(
        within budget: Duration, _ perform: () throws(Unjudged) -> Void, afterFirst settle: () -> Void = {}
    ) -> HeapGrowth? {
        // `try?` because what was judged before stays so.
        let growth = try? heapGrowth(within: budget, longestRound: HeapGrowth.briefRound) { _ throws(Unjudged) in
            try perform()
        } afterFirst: { () throws(Unjudged) in
            settle()
        } orTooSlow: {
            Unjudged($0)
        }
        return growth.flatMap { $0 }
    }
}

extension Trial {
    /// As ``scene(_:)``, and no body is kept: how far a load came before its stop shows in no count.
    fileprivate func terseScene(_ load: ConformanceLoad) throws(Unjudged) -> (Request, ClientScript) {
        var (request, script) = try scene(load)
        script.isTerse = true
        return (request, script)
    }
}
