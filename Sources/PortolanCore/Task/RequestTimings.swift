// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// How long each phase of one request took.
///
///     start ─ waiting ─┬─ domainLookup ─ connecting ─ tlsHandshake ─┬─ sending ─ awaitingResponse ─ receiving ─ end
///                      └─ (a reused connection) ──────────────┘
///
/// A phase is `nil` if it did not take place or did not end. If the request had to be sent again because its first
/// connection was dead, the phases describe the second transmission, and ``waiting`` includes the first transmission.
public struct RequestTimings: Hashable, Sendable {
    /// The time from the load's start to the request's start: zero for the first request, otherwise the end of the
    /// previous request.
    public let start: Duration
    /// The time from the load's start to the end of the response, or to the end of the load if that came first; `nil`
    /// while the load runs.
    public let end: Duration?
    /// The wait for an existing connection that was free for this request.
    public private(set) var waiting: Duration?
    /// The DNS lookup of the host or its proxy. Includes the wait for permission to open a connection, while the limit
    /// on connections is reached.
    public private(set) var domainLookup: Duration?
    /// The TCP handshake, with the host or its proxy.
    public private(set) var connecting: Duration?
    /// The TLS handshake, including the set-up of a proxy's tunnel before it.
    public private(set) var tlsHandshake: Duration?
    /// The sending of the request, until its last byte was passed to the system. It ends with the first byte of the
    /// response if the whole request was never sent.
    public private(set) var sending: Duration?
    /// From the end of the sending to the first byte of a response; zero if that came before the whole request was
    /// sent.
    public private(set) var awaitingResponse: Duration?
    /// From the first byte of a response to the end. If the response began before the whole request was sent, the time
    /// after both.
    public private(set) var receiving: Duration?
    /// The report of the transfer; `nil` if the load ended before the response was complete, or if no connection could
    /// be made.
    public let transfer: TransferReport?
    /// The response after which the request was sent again: a 401 or 407 that a credential answered, or a 417. `nil` if
    /// the request was not sent again.
    public let resentAfterResponse: HTTPResponse?

    /// The time from the request's start to its end.
    public var total: Duration? { end.map { $0 - start } }
}

extension LoadMetrics {
    /// The phases of each request that was sent, in order. The last request can still be running.
    public var timings: [RequestTimings] {
        var timings: [RequestTimings] = []
        var (start, firstStepIndex) = (Duration.zero, 0)
        for transfer in transferEnds {
            let steps = steps[firstStepIndex..<transfer.stepCount]
            timings.append(
                RequestTimings(
                    steps, start: start, end: transfer.time, transfer: transfer.report, resentAfterResponse: transfer.refusal))
            (start, firstStepIndex) = (transfer.time, transfer.stepCount)
        }
        if firstStepIndex < steps.count { timings.append(RequestTimings(steps[firstStepIndex...], start: start, end: timeToEnd)) }
        return timings
    }
}

extension RequestTimings {
    fileprivate init(
        _ steps: ArraySlice<LoadMetrics.Step>, start: Duration, end: Duration?, transfer: TransferReport? = nil,
        resentAfterResponse: HTTPResponse? = nil
    ) {
        (self.start, self.end, self.transfer, self.resentAfterResponse) = (start, end, transfer, resentAfterResponse)
        // The start of the current phase.
        var phaseStart = start
        var sentTime: Duration?
        var firstByteTime: Duration?
        for step in steps {
            if step.step.isConnectionStep, let first = sentTime, firstByteTime == nil {
                waiting = first - start
                (domainLookup, connecting, tlsHandshake, sending, sentTime) = (nil, nil, nil, nil, nil)
                phaseStart = first
            }
            switch step.step {
            case .domainResolved: domainLookup = step.time - phaseStart
            case .connected: connecting = step.time - phaseStart
            case .tlsEstablished: tlsHandshake = step.time - phaseStart
            case .connectionReused: waiting = step.time - start
            case .requestSent:
                sending = step.time - phaseStart
                sentTime = step.time
                // After an early response, or a 100: the rest of the request was sent later.
                if firstByteTime != nil { firstByteTime = step.time }
            case .firstByte:
                if sentTime == nil { sending = step.time - phaseStart }
                awaitingResponse = sentTime.map { step.time - $0 } ?? .zero
                firstByteTime = step.time
            }
            if step.step.isConnectionStep { phaseStart = step.time }
        }
        if let firstByteTime, let end { receiving = end - firstByteTime }
    }
}

extension LoadStep {
    fileprivate var isConnectionStep: Bool {
        switch self {
        case .domainResolved, .connected, .tlsEstablished, .connectionReused: true
        case .requestSent, .firstByte: false
        }
    }
}
