// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Serializes the calls to one load. A call that arrives during another call is queued, and is performed by the thread
/// of the other call.
///
/// A load that passes each call to ``submit(_:perform:)`` needs no lock for its state. A resume that arrives during a
/// call is performed after that call has returned.
public struct SerialCalls: ~Copyable, Sendable {
    /// The calls that a load can receive. Of several queued calls, the one with the lowest value is performed first. A
    /// call that is already queued is not queued again.
    public struct Call: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        public static let stop = Self(rawValue: 1 << 0)
        public static let start = Self(rawValue: 1 << 1)
        public static let resume = Self(rawValue: 1 << 2)
    }

    private static let runningFlag: UInt16 = 1 << 8
    private let state = Atomic<UInt16>(0)

    public init() {}

    /// Performs `call` now, or queues it for the thread that is performing calls.
    ///
    /// If this thread performs the call, it also performs the calls that other threads queue during that time.
    public func submit(_ call: Call, perform: (Call) -> Void) {
        if enqueue(call) { run(perform) }
    }

    /// Queues `call` without performing anything.
    ///
    /// - Returns: whether ``run(_:)`` must be called for the queued call, on any thread.
    public func enqueue(_ call: Call) -> Bool {
        state.bitwiseOr(Self.runningFlag | UInt16(call.rawValue), ordering: .acquiringAndReleasing).oldValue & Self.runningFlag == 0
    }

    /// Performs the queued calls until there are none. Call it once for each ``enqueue(_:)`` that returned `true`.
    public func run(_ perform: (Call) -> Void) {
        while let call = nextCall() { perform(call) }
    }

    /// Does what ``run(_:)`` does, for at most `limit` calls.
    ///
    /// - Returns: whether this method must be called again, because more calls can be queued.
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
            let queued = old & ~Self.runningFlag
            let first = queued & (~queued &+ 1)
            let new = queued == 0 ? 0 : old & ~first
            let (exchanged, original) = state.weakCompareExchange(
                expected: old, desired: new, successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if exchanged { return queued == 0 ? nil : Call(rawValue: UInt8(truncatingIfNeeded: first)) }
            old = original
        }
    }
}
