// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import PortolanCore

/// The fast path delivers data without the state machine. Where the fast path applies, it must change the state as the
/// state machine does. The tests compare both in every state that four bytes can represent.
@Suite struct DataFastPathTests {
    private static let states = EventStateMachine.Phase.allCases.flatMap { phase in
        (0..<UInt16(1 << 11)).map { EventStateMachine(phase: phase, flags: EventStateMachine.Flags(rawValue: $0)) }
    }

    private static let rules = [false, true].flatMap { allowsParts in
        [false, true].map { EventStateMachine.Rules(allowsParts: allowsParts, offersCachedResponse: $0) }
    }

    @Test func fastPathBeginMatchesTheStateMachine() {
        var fastPathCount = 0
        for state in Self.states {
            let machine = Atomic(state)
            let usesFastPath = machine.tryBeginDataFastPath()
            let stateAfter = machine.load(ordering: .relaxed)
            if usesFastPath { fastPathCount += 1 } else { #expect(stateAfter == state) }
            for rules in Self.rules where usesFastPath {
                var stateMachine = state
                #expect(stateMachine.begin(.data, rules: rules) == .deliver)
                #expect(stateMachine == stateAfter)
            }
        }
        #expect(fastPathCount == 1)
    }

    @Test func fastPathEndMatchesTheStateMachine() {
        var fastPathCount = 0
        for state in Self.states {
            let machine = Atomic(state)
            let usesFastPath = machine.tryEndDataFastPath()
            let stateAfter = machine.load(ordering: .relaxed)
            guard usesFastPath else {
                #expect(stateAfter == state)
                continue
            }
            fastPathCount += 1
            var stateMachine = state
            #expect(stateMachine.endDelivery(of: .data, flow: .keepGoing) == .flow(.keepGoing))
            #expect(stateMachine == stateAfter)
        }
        #expect(fastPathCount == 1)
    }
}
