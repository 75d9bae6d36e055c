// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import PortolanCore

/// The fast path of data, which bypasses the machine. If it applies, the machine would have decided the same, in every
/// state that four bytes can represent.
@Suite struct DataFastPathTests {
    private static let states = EventStateMachine.Phase.allCases.flatMap { phase in
        (0..<UInt16(1 << 11)).map { EventStateMachine(phase: phase, flags: EventStateMachine.Flags(rawValue: $0)) }
    }

    private static let rules = [false, true].flatMap { parts in
        [false, true].map { EventStateMachine.Rules(allowsParts: parts, offersCached: $0) }
    }

    @Test func fastPathBeginMatchesTheStateMachine() {
        var taken = 0
        for state in Self.states {
            let order = Atomic(state)
            let isTaken = order.beginDataFreely()
            let after = order.load(ordering: .relaxed)
            if isTaken { taken += 1 } else { #expect(after == state) }
            for rules in Self.rules where isTaken {
                var machine = state
                #expect(machine.begin(.data, rules: rules) == .deliver)
                #expect(machine == after)
            }
        }
        #expect(taken == 1)
    }

    @Test func fastPathEndMatchesTheStateMachine() {
        var taken = 0
        for state in Self.states {
            let order = Atomic(state)
            let isTaken = order.endDataFreely()
            let after = order.load(ordering: .relaxed)
            guard isTaken else {
                #expect(after == state)
                continue
            }
            taken += 1
            var machine = state
            #expect(machine.endDelivery(of: .data, flow: .keepGoing) == .flow(.keepGoing))
            #expect(machine == after)
        }
        #expect(taken == 1)
    }
}
