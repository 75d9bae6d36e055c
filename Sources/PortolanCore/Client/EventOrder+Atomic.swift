// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The run of data, which is nearly all that happens: with nothing else the matter, ``EventOrder`` would answer each of its events alike, so
/// one comparison takes the place of the machine.
extension EventOrder {
    /// A response has come, and nothing is the matter.
    static var receivingFreely: EventOrder { EventOrder(phase: .receiving) }
    /// … and data is with the client.
    static var deliveringFreely: EventOrder { EventOrder(phase: .receiving, flags: .delivering) }
}

extension Atomic where Value == EventOrder {
    /// As ``EventOrder/begin(_:rules:)`` of data would let it pass; `false`: ask that.
    func beginDataFreely() -> Bool {
        compareExchange(expected: .receivingFreely, desired: .deliveringFreely, ordering: .acquiringAndReleasing).exchanged
    }

    /// As ``EventOrder/endDelivery(of:answer:)`` of data and `.keepGoing` would answer `.keepGoing`; `false`: ask that.
    func endDataFreely() -> Bool {
        compareExchange(expected: .deliveringFreely, desired: .receivingFreely, ordering: .acquiringAndReleasing).exchanged
    }
}

extension EventOrder: AtomicRepresentable {
    typealias AtomicRepresentation = UInt32.AtomicRepresentation

    static func encodeAtomicRepresentation(_ value: consuming EventOrder) -> AtomicRepresentation {
        UInt32.encodeAtomicRepresentation(UInt32(value.phase.rawValue) << 16 | UInt32(value.flags.rawValue))
    }

    static func decodeAtomicRepresentation(_ storage: consuming AtomicRepresentation) -> EventOrder {
        let bits = UInt32.decodeAtomicRepresentation(storage)
        return EventOrder(
            phase: Phase(rawValue: UInt8(truncatingIfNeeded: bits >> 16)) ?? .stopped,
            flags: Flags(rawValue: UInt16(truncatingIfNeeded: bits)))
    }
}
