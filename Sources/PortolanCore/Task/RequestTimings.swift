// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// How long each phase of one request took.
///
///     start ─ waiting ─┬─ nameLookUp ─ connecting ─ securing ─┬─ sending ─ answering ─ receiving ─ end
///                      └─ (a connection that was there) ──────┘
///
/// A phase is `nil` where it was not gone through, or not to its end. Where the request had to be sent again, for the connection on which it was
/// sent first was dead, the second time counts, and the first is part of ``waiting``.
public struct RequestTimings: Hashable, Sendable {
    /// From the load's start to the request's: zero for the first one, else the end of the one before.
    public let start: Duration
    /// From the load's start to the end of the answer, or of the load where that was cut short; `nil` while it runs.
    public let end: Duration?
    /// Until a connection that was there was free for this request.
    public private(set) var waiting: Duration?
    /// Until the host's address was known; while all connections are taken, the time until one may be opened is part of it.
    public private(set) var nameLookUp: Duration?
    /// The TCP handshake, with the host or its proxy.
    public private(set) var connecting: Duration?
    /// The TLS handshake, and in front of it what a proxy needs for a tunnel.
    public private(set) var securing: Duration?
    /// Until the last byte of the request was handed to the system.
    public private(set) var sending: Duration?
    /// From there to the first byte of an answer; zero where that came before the request was out.
    public private(set) var answering: Duration?
    /// From there to the end.
    public private(set) var receiving: Duration?
    /// What went over the wire; `nil` where the load ended before the answer did, or no connection could be made.
    public let report: TransferReport?
    /// The response after which the request was sent again: a 401 or 407 that a credential answered, or a 417. `nil` if the response was delivered.
    public let refusal: HTTPResponse?

    /// From the request's start to its end.
    public var total: Duration? { end.map { $0 - start } }
}

extension LoadMetrics {
    /// The phases of each request that was sent, in order; the last one may be under way.
    public var timings: [RequestTimings] {
        var timings: [RequestTimings] = []
        var (start, first) = (Duration.zero, 0)
        for transfer in ends {
            let steps = steps[first..<transfer.stepCount]
            timings.append(RequestTimings(steps, start: start, end: transfer.time, report: transfer.report, refusal: transfer.refusal))
            (start, first) = (transfer.time, transfer.stepCount)
        }
        if first < steps.count { timings.append(RequestTimings(steps[first...], start: start, end: end)) }
        return timings
    }
}

extension RequestTimings {
    fileprivate init(
        _ steps: ArraySlice<LoadMetrics.Step>, start: Duration, end: Duration?, report: TransferReport? = nil, refusal: HTTPResponse? = nil
    ) {
        (self.start, self.end, self.report, self.refusal) = (start, end, report, refusal)
        /// The last step before the request was sent.
        var ready = start
        var sent: Duration?
        var answered: Duration?
        for step in steps {
            if step.step.isOfConnection, let first = sent, answered == nil {
                waiting = first - start
                (nameLookUp, connecting, securing, sending, sent) = (nil, nil, nil, nil, nil)
                ready = first
            }
            switch step.step {
            case .nameFound: nameLookUp = step.time - ready
            case .connected: connecting = step.time - ready
            case .secured: securing = step.time - ready
            case .reused: waiting = step.time - start
            case .requestSent:
                sending = step.time - ready
                sent = step.time
            case .firstByte:
                answering = sent.map { step.time - $0 } ?? .zero
                answered = step.time
            }
            if step.step.isOfConnection { ready = step.time }
        }
        if let answered, let end { receiving = end - answered }
    }
}

extension LoadStep {
    fileprivate var isOfConnection: Bool {
        switch self {
        case .nameFound, .connected, .secured, .reused: true
        case .requestSent, .firstByte: false
        }
    }
}
