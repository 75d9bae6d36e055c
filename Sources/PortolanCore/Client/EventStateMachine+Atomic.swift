// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Fast path for runs of data, the most frequent events. Without other conditions, ``EventStateMachine`` makes the same
/// decision for each of them, so one comparison replaces the state machine.
extension EventStateMachine {
    /// A response has arrived, and no other condition holds.
    static var receivingFreely: EventStateMachine { EventStateMachine(phase: .receiving) }
    /// The same, while the client processes data.
    static var deliveringFreely: EventStateMachine { EventStateMachine(phase: .receiving, flags: .delivering) }
}

extension Atomic where Value == EventStateMachine {
    /// Has the effect of ``EventStateMachine/begin(_:rules:)`` for data with the result `.deliver`. If it returns
    /// `false`, call that method.
    func beginDataFreely() -> Bool {
        compareExchange(expected: .receivingFreely, desired: .deliveringFreely, ordering: .acquiringAndReleasing).exchanged
    }

    /// Has the effect of ``EventStateMachine/endDelivery(of:flow:)`` for data with the result `.keepGoing`. If it
    /// returns `false`, call that method.
    func endDataFreely() -> Bool {
        compareExchange(expected: .deliveringFreely, desired: .receivingFreely, ordering: .acquiringAndReleasing).exchanged
    }
}

extension EventStateMachine: AtomicRepresentable {
    typealias AtomicRepresentation = UInt32.AtomicRepresentation

    static func encodeAtomicRepresentation(_ value: consuming EventStateMachine) -> AtomicRepresentation {
        UInt32.encodeAtomicRepresentation(UInt32(value.phase.rawValue) << 16 | UInt32(value.flags.rawValue))
    }

    static func decodeAtomicRepresentation(_ storage: consuming AtomicRepresentation) -> EventStateMachine {
        let bits = UInt32.decodeAtomicRepresentation(storage)
        return EventStateMachine(
            phase: Phase(rawValue: UInt8(truncatingIfNeeded: bits >> 16)) ?? .stopped,
            flags: Flags(rawValue: UInt16(truncatingIfNeeded: bits)))
    }
}
