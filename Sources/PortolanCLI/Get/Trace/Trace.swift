// SPDX-License-Identifier: Apache-2.0

import Portolan

/// What was recorded of the loads of one command.
struct Trace: Sendable {
    var loads: [TracedLoad] = []
}

/// One load: what happened when, and the bytes that came.
struct TracedLoad: Sendable {
    /// Seconds since 1970, when it began.
    let began: Double
    var events: [Happening] = []
    /// How many events were left out, because there were more than any file can hold.
    var lostEvents = 0

    enum What: Sendable {
        case event(LoadEvent)
        /// Body bytes; as many as were kept, and how many came.
        case data(kept: [UInt8], count: Int)
    }

    struct Happening: Sendable {
        /// Since the load's start.
        let time: Duration
        let what: What
    }

    /// No trace has more.
    static let largestEventCount = 100_000
    /// Of a body no more is kept.
    static let largestBody = 16 << 20

    private var keptBytes = 0

    init(began: Double) { self.began = began }

    mutating func note(_ event: LoadEvent, at time: Duration) {
        append(.event(event), at: time)
    }

    mutating func note(body bytes: borrowing RawSpan, at time: Duration) {
        let count = min(bytes.byteCount, max(0, Self.largestBody - keptBytes))
        keptBytes += count
        let kept = unsafe bytes.withUnsafeBytes { unsafe Array($0.prefix(count)) }
        append(.data(kept: kept, count: bytes.byteCount), at: time)
    }

    private mutating func append(_ what: What, at time: Duration) {
        if events.count < Self.largestEventCount { events.append(Happening(time: time, what: what)) } else { lostEvents += 1 }
    }
}
