// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Puts the calls into one load in turn: a call that comes while another runs is remembered and made by whoever runs.
///
/// A load that hands each call it gets to ``take(_:perform:)`` needs no lock of its own, and a resume can't overtake the pause that it answers.
public struct SerialCalls: ~Copyable, Sendable {
    /// What a load can be called for. Of several that wait, the lowest value comes first; one that waits already is not remembered twice.
    public struct Call: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let stop = Self(rawValue: 1 << 0)
        public static let start = Self(rawValue: 1 << 1)
        public static let resume = Self(rawValue: 1 << 2)
    }

    private static let running: UInt16 = 1 << 8
    private let state = Atomic<UInt16>(0)

    public init() {}

    /// Calls `perform` with `call` now, or leaves it to the thread that is in a turn just now.
    ///
    /// In the first case it goes on with the turns that other threads leave meanwhile: `perform` gets theirs, too.
    public func submit(_ call: Call, perform: (Call) -> Void) {
        if enqueue(call) { run(perform) }
    }

    /// Leaves `call` to be performed, in its order, without performing anything here.
    ///
    /// - Returns: whether somebody has to call ``run(_:)``, on any thread, for it.
    public func enqueue(_ call: Call) -> Bool {
        state.bitwiseOr(Self.running | UInt16(call.rawValue), ordering: .acquiringAndReleasing).oldValue & Self.running == 0
    }

    /// Performs the turns that were left, until there is none. Once for each ``leave(_:)`` that asked for it.
    public func run(_ perform: (Call) -> Void) {
        while let call = nextCall() { perform(call) }
    }

    /// As ``run(_:)``, for at most `limit` turns.
    ///
    /// - Returns: whether it has to be called again: there may be more.
    public func run(atMost limit: Int, _ perform: (Call) -> Void) -> Bool {
        for _ in 0..<limit {
            guard let call = nextCall() else { return false }
            perform(call)
        }
        return true
    }

    private func nextCall() -> Call? {
        var old = state.load(ordering: .acquiring)
        while true {
            let waiting = old & ~Self.running
            let first = waiting & (~waiting &+ 1)
            let new = waiting == 0 ? 0 : old & ~first
            let (exchanged, original) = state.weakCompareExchange(
                expected: old, desired: new, successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if exchanged { return waiting == 0 ? nil : Call(rawValue: UInt8(truncatingIfNeeded: first)) }
            old = original
        }
    }
}
