// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The fast path for data, which is the most frequent event. While a body arrives and no flag is set,
/// ``EventStateMachine`` makes the same decision for each piece, so one compare-and-exchange replaces the decision.
extension EventStateMachine {
    /// A response has arrived, and no flag is set.
    static var receivingWithoutFlags: EventStateMachine { EventStateMachine(phase: .receiving) }
    /// A response has arrived, and the client is processing data. No other flag is set.
    static var deliveringWithoutOtherFlags: EventStateMachine { EventStateMachine(phase: .receiving, flags: .delivering) }
}

extension Atomic where Value == EventStateMachine {
    /// Begins the delivery of data, as ``EventStateMachine/begin(_:rules:)`` does with the result `.deliver`.
    ///
    /// - Returns: `false` if the state does not allow the fast path. The caller must then call `begin`.
    func tryBeginDataFastPath() -> Bool {
        compareExchange(expected: .receivingWithoutFlags, desired: .deliveringWithoutOtherFlags, ordering: .acquiringAndReleasing).exchanged
    }

    /// Ends the delivery of data, as ``EventStateMachine/endDelivery(of:flow:)`` does with the result `.keepGoing`.
    ///
    /// - Returns: `false` if the state does not allow the fast path. The caller must then call `endDelivery`.
    func tryEndDataFastPath() -> Bool {
        compareExchange(expected: .deliveringWithoutOtherFlags, desired: .receivingWithoutFlags, ordering: .acquiringAndReleasing).exchanged
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
