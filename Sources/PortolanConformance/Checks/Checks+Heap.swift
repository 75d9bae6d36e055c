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
                            throw Unjudged("'\(load.url)' did not come to rest after a stop (ORDER-07)")
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
                let start = MonotonicTime.now
                for index in 0..<20 {
                    try perform(index)
                }
                let perLoad = (MonotonicTime.now - start) / 20
                let length = min(longestRound, Int(budget / (perLoad * (Trial.roundCount + 2))))
                guard length >= smallestRound else {
                    throw Unjudged(
                        "one of the \(what) of '\(load.url)' takes \(Words.time(perLoad)), too long for many; --timeout gives more")
                }
                for index in 0..<length { try perform(index) }
                // As many more as a tenth of a second has: what each of them was lent stays for that long, for a plugin that looks at it late (ORDER-12).
                let end = MonotonicTime.now + .milliseconds(100)
                for index in 0..<500 where MonotonicTime.now < end { try perform(index) }
                instance.keepFew(since: kept)
                guard let left = try Trial.heapGrowth(ofRoundsOf: length, until: start + budget, perform) else { return }
                trial.fail("'\(load.url)': each of \(left.rounds) rounds of \(length) \(what) left \(left.memory)")
            }
        }
    }

    private static let smallestRound = 40
}

extension Trial {
    static let roundCount = 5

    /// What each round of `length` turns leaves of the heap in use, for a finding; `nil` where one leaves as much as nothing. What comes and goes, or grows
    /// once, is no leak.
    ///
    /// - Parameter end: of looking longer, on `MonotonicTime`, than ``roundCount`` rounds.
    static func heapGrowth(
        ofRoundsOf length: Int, until end: Duration, _ perform: (Int) throws(Unjudged) -> Void
    ) throws(Unjudged) -> (rounds: Int, memory: String)? {
        // What came before goes in the course of a round, and would hide what this one leaves.
        for index in 0..<length { try perform(index) }
        var before = ProcessCensus.settledHeapBytes()
        var least = Int.max
        var round = 0
        // For less than the smallest block of each turn it is looked at up to three times as long: what another thread frees stays in that thread's
        // cache for a while (glibc.malloc.tcache_count), which grows for some rounds on a busy machine.
        while round < roundCount || (least < length * 32 && round < roundCount * 3 && MonotonicTime.now < end) {
            for index in 0..<length { try perform(index) }
            let now = ProcessCensus.settledHeapBytes()
            (least, before, round) = (min(least, now - before), now, round + 1)
            // Every eighth turn leaves the smallest block that there is (32 bytes): less is no leak of turns, and it will not become more.
            if least < length * 4 { return nil }
        }
        return (round, "\(least) bytes of the heap in use at least, about \(least / length) each")
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
