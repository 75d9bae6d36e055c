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
    /// The number of events that a replay needs, but that were not recorded, because the record had reached its limit.
    private(set) var lostEvents = 0
    /// The number of events that were not recorded and that a replay does not need: steps, progress, challenges,
    /// nested loads, and what the cache did.
    private(set) var lostTransportEvents = 0

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

    private var recordedByteCount = 0
    private let maximumBodySize: Int

    /// - Parameter keepsBodies: whether the record keeps the bytes of bodies, and not only their number.
    init(began: Double, keepsBodies: Bool = true) {
        (self.began, maximumBodySize) = (began, keepsBodies ? Transaction.maximumBodySize : 0)
    }

    /// The number of further body bytes that the record can hold.
    var remainingCapacity: Int { max(0, maximumBodySize - recordedByteCount) }
    var keepsBodies: Bool { maximumBodySize > 0 }

    mutating func record(_ event: LoadEvent, at time: Duration) {
        append(.event(event), at: time)
    }

    /// - Parameters:
    ///   - kept: the bytes to record, at most ``remainingCapacity``.
    ///   - count: the number of received bytes.
    mutating func record(body kept: [UInt8], of count: Int, at time: Duration) {
        recordedByteCount += kept.count
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
        let event = TraceEvent(time: time, kind: kind)
        guard events.count >= Transaction.maximumEventCount else { return events.append(event) }
        switch kind {
        case .data(let kept, let count): appendToLastData(kept, count: count, at: time)
        case .event(.finished), .event(.failed): events.append(event)
        case .event(.started), .event(.redirected), .event(.interim), .event(.response), .event(.trailers), .event(.metrics),
            .event(.retrying):
            // The number of these events is limited, too, because `--retry` and multipart responses can cause any
            // number.
            if events.count < Transaction.maximumEventCount + Self.extraEventCount { events.append(event) } else { lostEvents += 1 }
        case .event(.challenged), .event(.nestedLoadBegan), .event(.nestedLoadEnded), .event(.sent), .event(.step), .event(.cache):
            lostTransportEvents += 1
        }
    }

    /// How many events of a few important kinds are recorded beyond the limit.
    private static let extraEventCount = 1000

    /// Appends body bytes to the last event if that is a piece of body. Otherwise adds an event.
    private mutating func appendToLastData(_ bytes: [UInt8], count: Int, at time: Duration) {
        guard case .data(var kept, let sum)? = events.last?.kind, let first = events.popLast()?.time else {
            return events.append(TraceEvent(time: time, kind: .data(kept: bytes, count: count)))
        }
        kept += bytes
        events.append(TraceEvent(time: first, kind: .data(kept: kept, count: sum + count)))
    }
}
