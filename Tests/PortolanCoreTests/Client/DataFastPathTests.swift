// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing

@testable import PortolanCore

/// The fast path delivers data without the state machine. Where the fast path applies, it must change the state as the
/// state machine does. The tests compare both in every combination of a phase and the eleven flags.
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
            let atomicState = Atomic(state)
            let usesFastPath = atomicState.tryBeginDataFastPath()
            let stateAfter = atomicState.load(ordering: .relaxed)
            if usesFastPath { fastPathCount += 1 } else { #expect(stateAfter == state) }
            for rules in Self.rules where usesFastPath {
                var reference = state
                #expect(reference.begin(.data, rules: rules) == .deliver)
                #expect(reference == stateAfter)
            }
        }
        #expect(fastPathCount == 1)
    }

    @Test func fastPathEndMatchesTheStateMachine() {
        var fastPathCount = 0
        for state in Self.states {
            let atomicState = Atomic(state)
            let usesFastPath = atomicState.tryEndDataFastPath()
            let stateAfter = atomicState.load(ordering: .relaxed)
            guard usesFastPath else {
                #expect(stateAfter == state)
                continue
            }
            fastPathCount += 1
            var reference = state
            #expect(reference.endDelivery(of: .data, flow: .keepGoing) == .flow(.keepGoing))
            #expect(reference == stateAfter)
        }
        #expect(fastPathCount == 1)
    }
}
