// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The run of data, which is nearly all that happens: with nothing else the matter, ``EventStateMachine`` would answer each of its events alike, so
/// one comparison takes the place of the machine.
extension EventStateMachine {
    /// A response has come, and nothing is the matter.
    static var receivingFreely: EventStateMachine { EventStateMachine(phase: .receiving) }
    /// … and data is with the client.
    static var deliveringFreely: EventStateMachine { EventStateMachine(phase: .receiving, flags: .delivering) }
}

extension Atomic where Value == EventStateMachine {
    /// As ``EventStateMachine/begin(_:rules:)`` of data would let it pass; `false`: ask that.
    func beginDataFreely() -> Bool {
        compareExchange(expected: .receivingFreely, desired: .deliveringFreely, ordering: .acquiringAndReleasing).exchanged
    }

    /// As ``EventStateMachine/endDelivery(of:answer:)`` of data and `.keepGoing` would answer `.keepGoing`; `false`: ask that.
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
