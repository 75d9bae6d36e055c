// SPDX-License-Identifier: Apache-2.0

import Synchronization

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
