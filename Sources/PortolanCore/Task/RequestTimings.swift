// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// How long each phase of one request took.
///
///     start ─ waiting ─┬─ domainLookup ─ connecting ─ tlsHandshake ─┬─ sending ─ awaitingResponse ─ receiving ─ end
///                      └─ (a reused connection) ──────────────┘
///
/// A phase is `nil` if the request did not go through it, or not to its end. If the request had to be sent again
/// because its first connection was dead, the second transmission counts, and the first is part of ``waiting``.
public struct RequestTimings: Hashable, Sendable {
    /// From the load's start to the request's start: zero for the first request, otherwise the end of the previous one.
    public let start: Duration
    /// From the load's start to the end of the response, or of the load if that ended the response early; `nil` while
    /// it runs.
    public let end: Duration?
    /// Until an existing connection was free for this request.
    public private(set) var waiting: Duration?
    /// Until the host's address was known. While all connections are taken, this includes the time until a new one may
    /// be opened.
    public private(set) var domainLookup: Duration?
    /// The TCP handshake, with the host or its proxy.
    public private(set) var connecting: Duration?
    /// The TLS handshake, including the set-up of a proxy's tunnel before it.
    public private(set) var tlsHandshake: Duration?
    /// Until the last byte of the request was passed to the system.
    public private(set) var sending: Duration?
    /// From there to the first byte of a response; zero if that came before the whole request was sent.
    public private(set) var awaitingResponse: Duration?
    /// From there to the end.
    public private(set) var receiving: Duration?
    /// The report of the transfer; `nil` if the load ended before the response did, or if no connection could be made.
    public let transfer: TransferReport?
    /// The response after which the request was sent again: a 401 or 407 that a credential answered, or a 417. `nil` if
    /// the response was delivered.
    public let resentAfterResponse: HTTPResponse?

    /// From the request's start to its end.
    public var total: Duration? { end.map { $0 - start } }
}

extension LoadMetrics {
    /// The phases of each request that was sent, in order. The last one may still be running.
    public var timings: [RequestTimings] {
        var timings: [RequestTimings] = []
        var (start, first) = (Duration.zero, 0)
        for transfer in ends {
            let steps = steps[first..<transfer.stepCount]
            timings.append(
                RequestTimings(
                    steps, start: start, end: transfer.time, transfer: transfer.report, resentAfterResponse: transfer.refusal))
            (start, first) = (transfer.time, transfer.stepCount)
        }
        if first < steps.count { timings.append(RequestTimings(steps[first...], start: start, end: timeToEnd)) }
        return timings
    }
}

extension RequestTimings {
    fileprivate init(
        _ steps: ArraySlice<LoadMetrics.Step>, start: Duration, end: Duration?, transfer: TransferReport? = nil,
        resentAfterResponse: HTTPResponse? = nil
    ) {
        (self.start, self.end, self.transfer, self.resentAfterResponse) = (start, end, transfer, resentAfterResponse)
        /// The last step before the request was sent.
        var ready = start
        var sent: Duration?
        var answered: Duration?
        for step in steps {
            if step.step.isOfConnection, let first = sent, answered == nil {
                waiting = first - start
                (domainLookup, connecting, tlsHandshake, sending, sent) = (nil, nil, nil, nil, nil)
                ready = first
            }
            switch step.step {
            case .domainResolved: domainLookup = step.time - ready
            case .connected: connecting = step.time - ready
            case .tlsEstablished: tlsHandshake = step.time - ready
            case .connectionReused: waiting = step.time - start
            case .requestSent:
                sending = step.time - ready
                sent = step.time
            case .firstByte:
                awaitingResponse = sent.map { step.time - $0 } ?? .zero
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
        case .domainResolved, .connected, .tlsEstablished, .connectionReused: true
        case .requestSent, .firstByte: false
        }
    }
}
