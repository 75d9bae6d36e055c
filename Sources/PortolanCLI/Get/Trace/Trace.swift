// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanTrace

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

    enum Occurrence: Sendable {
        case event(LoadEvent)
        /// Body bytes; as many as were kept, and how many came.
        case data(kept: [UInt8], count: Int)
    }

    struct Happening: Sendable {
        /// Since the load's start.
        let time: Duration
        let occurrence: Occurrence
    }

    private var keptBytes = 0

    init(began: Double) { self.began = began }

    /// Of the bodies, how many more bytes are kept.
    var room: Int { max(0, Exchange.largestBody - keptBytes) }

    mutating func note(_ event: LoadEvent, at time: Duration) {
        append(.event(event), at: time)
    }

    /// - Parameters:
    ///   - kept: no more than ``room``.
    ///   - count: how many bytes came.
    mutating func note(body kept: [UInt8], of count: Int, at time: Duration) {
        keptBytes += kept.count
        append(.data(kept: kept, count: count), at: time)
    }

    /// Without the bytes of bodies: how many came is left.
    var withoutBodies: TracedLoad {
        var load = self
        load.events = events.map { happening in
            guard case .data(_, let count) = happening.occurrence else { return happening }
            return Happening(time: happening.time, occurrence: .data(kept: [], count: count))
        }
        return load
    }

    private mutating func append(_ occurrence: Occurrence, at time: Duration) {
        if events.count < Exchange.largestEventCount {
            events.append(Happening(time: time, occurrence: occurrence))
        } else {
            lostEvents += 1
        }
    }
}
