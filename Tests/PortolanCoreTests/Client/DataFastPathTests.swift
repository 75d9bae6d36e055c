// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import PortolanCore

/// The fast path for data replaces the state machine. Wherever it applies, the state machine decides the same. The
/// tests compare both in every state that four bytes can represent.
@Suite struct DataFastPathTests {
    private static let states = EventStateMachine.Phase.allCases.flatMap { phase in
        (0..<UInt16(1 << 11)).map { EventStateMachine(phase: phase, flags: EventStateMachine.Flags(rawValue: $0)) }
    }

    private static let rules = [false, true].flatMap { parts in
        [false, true].map { EventStateMachine.Rules(allowsParts: parts, offersCachedResponse: $0) }
    }

    @Test func fastPathBeginMatchesTheStateMachine() {
        var fastPathCount = 0
        for state in Self.states {
            let machine = Atomic(state)
            let usesFastPath = machine.tryBeginDataFastPath()
            let after = machine.load(ordering: .relaxed)
            if usesFastPath { fastPathCount += 1 } else { #expect(after == state) }
            for rules in Self.rules where usesFastPath {
                var stateMachine = state
                #expect(stateMachine.begin(.data, rules: rules) == .deliver)
                #expect(stateMachine == after)
            }
        }
        #expect(fastPathCount == 1)
    }

    @Test func fastPathEndMatchesTheStateMachine() {
        var fastPathCount = 0
        for state in Self.states {
            let machine = Atomic(state)
            let usesFastPath = machine.tryEndDataFastPath()
            let after = machine.load(ordering: .relaxed)
            guard usesFastPath else {
                #expect(after == state)
                continue
            }
            fastPathCount += 1
            var stateMachine = state
            #expect(stateMachine.endDelivery(of: .data, flow: .keepGoing) == .flow(.keepGoing))
            #expect(stateMachine == after)
        }
        #expect(fastPathCount == 1)
    }
}
