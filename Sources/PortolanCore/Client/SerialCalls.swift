// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Serializes the calls into one load: a call that arrives while another runs is queued, and the running thread makes
/// it.
///
/// A load that passes each call to ``submit(_:perform:)`` needs no lock of its own, and a resume cannot overtake the
/// pause that it ends.
public struct SerialCalls: ~Copyable, Sendable {
    /// The calls that a load can receive. Of several waiting calls, the one with the lowest value is made first. A call
    /// that is already waiting is not queued again.
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

    /// Calls `perform` with `call` now, or leaves it to the thread that is performing calls.
    ///
    /// In the first case this thread also performs the calls that other threads queue meanwhile.
    public func submit(_ call: Call, perform: (Call) -> Void) {
        if enqueue(call) { run(perform) }
    }

    /// Queues `call` without performing anything.
    ///
    /// - Returns: whether ``run(_:)`` must be called for it, on any thread.
    public func enqueue(_ call: Call) -> Bool {
        state.bitwiseOr(Self.running | UInt16(call.rawValue), ordering: .acquiringAndReleasing).oldValue & Self.running == 0
    }

    /// Performs the queued calls until there are none. Call it once for each ``enqueue(_:)`` that returned `true`.
    public func run(_ perform: (Call) -> Void) {
        while let call = nextCall() { perform(call) }
    }

    /// Does what ``run(_:)`` does, for at most `limit` calls.
    ///
    /// - Returns: whether it must be called again, because there may be more calls.
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
