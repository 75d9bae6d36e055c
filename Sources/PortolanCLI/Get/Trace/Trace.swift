// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanTrace

/// The recorded loads of one command.
struct Trace: Sendable {
    var loads: [TracedLoad] = []
}

/// The record of one load: its events with times, and the body bytes.
struct TracedLoad: Sendable {
    /// When the load started, in seconds since 1970.
    let began: Double
    var events: [TraceEvent] = []
    /// The number of events dropped beyond the limit of a recording.
    var lostEvents = 0

    enum TraceEventKind: Sendable {
        case event(LoadEvent)
        /// Body bytes: the recorded ones, and the number of received ones.
        case data(kept: [UInt8], count: Int)
    }

    struct TraceEvent: Sendable {
        /// The time since the start of the load.
        let time: Duration
        let kind: TraceEventKind
    }

    private var keptBytes = 0

    init(began: Double) { self.began = began }

    /// The number of further body bytes that the record can hold.
    var room: Int { max(0, Exchange.largestBody - keptBytes) }

    mutating func note(_ event: LoadEvent, at time: Duration) {
        append(.event(event), at: time)
    }

    /// - Parameters:
    ///   - kept: the bytes to record, at most ``room``.
    ///   - count: the number of received bytes.
    mutating func note(body kept: [UInt8], of count: Int, at time: Duration) {
        keptBytes += kept.count
        append(.data(kept: kept, count: count), at: time)
    }

    /// The load without body bytes; their number stays.
    var withoutBodies: TracedLoad {
        var load = self
        load.events = events.map { event in
            guard case .data(_, let count) = event.kind else { return event }
            return TraceEvent(time: event.time, kind: .data(kept: [], count: count))
        }
        return load
    }

    private mutating func append(_ kind: TraceEventKind, at time: Duration) {
        if events.count < Exchange.largestEventCount {
            events.append(TraceEvent(time: time, kind: kind))
        } else {
            lostEvents += 1
        }
    }
}
