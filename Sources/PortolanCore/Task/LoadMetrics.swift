// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// When each step of a load took place, and what was transferred. ``timings`` groups the times by request and phase.
public struct LoadMetrics: Hashable, Sendable {
    /// The steps that handlers reported, in order, with the time since the start of the load. Each request has its own
    /// steps. Only the first 1024 are kept.
    package private(set) var steps: [Step] = []
    /// One report for each request that was sent over a network, in order. Requests that led to a redirect or a
    /// challenge are included. Empty if the protocol uses no network. Only the first 1024 are kept.
    package var transfers: [TransferReport] { transferEnds.map(\.report) }
    public private(set) var redirectCount = 0
    /// The number of requests that were given to handlers to send, including those that were sent again. A redirect by
    /// HSTS sends none.
    package private(set) var requestCount = 0
    /// How many of the redirects came from HSTS.
    private(set) var upgradeCount = 0
    /// The time from the start of the load to the first response.
    public internal(set) var timeToResponse: Duration?
    /// The time from the start of the load to its end.
    public internal(set) var timeToEnd: Duration?
    /// The end of each request, with its position in ``steps``.
    private(set) var transferEnds: [TransferEnd] = []
    /// For each redirect, the end of the request before it.
    private var redirectBoundaries: [Boundary] = []

    /// The response after which the current request is sent again.
    private var pendingRefusal: HTTPResponse?

    /// The maximum number of steps, of transfers and of redirects that are recorded.
    private static let entryLimit = 1024

    package init() {}

    package struct Step: Hashable, Sendable {
        package let step: LoadStep
        /// The time since the start of the load.
        package let time: Duration
    }

    /// The end of one request and its response.
    struct TransferEnd: Hashable, Sendable {
        let report: TransferReport
        /// The response after which the request is sent again.
        let refusal: HTTPResponse?
        /// The time since the start of the load.
        let time: Duration
        /// The number of steps before this end.
        let stepCount: Int
        /// The number of redirects before this end.
        fileprivate let redirectCount: Int
    }

    /// The moment between two requests.
    private struct Boundary: Hashable {
        /// The time since the start of the load.
        let time: Duration
        /// The number of steps before this moment.
        let stepCount: Int
        /// The response after which the request before this moment is sent again. Removed when that request is
        /// reported.
        var refusal: HTTPResponse?
    }

    /// - Returns: whether there was room for the step.
    @discardableResult
    package mutating func recordStep(_ step: LoadStep, at time: Duration) -> Bool {
        if steps.isEmpty { steps.reserveCapacity(4) }  // a transaction on a reused connection has three
        guard steps.count < Self.entryLimit else { return false }
        steps.append(Step(step: step, time: time))
        return true
    }

    /// - Parameter count: the number of redirects before the request. The report of a redirected request can come after
    ///   the next request has begun.
    package mutating func recordTransfer(_ report: TransferReport, at time: Duration, afterRedirects count: Int = 0) {
        guard transferEnds.count < Self.entryLimit else { return }
        guard count < redirectBoundaries.count else {
            let refusal = pendingRefusal.take()
            return transferEnds.append(
                TransferEnd(report: report, refusal: refusal, time: time, stepCount: steps.count, redirectCount: count))
        }
        let boundary = redirectBoundaries[count]
        let end = TransferEnd(
            report: report, refusal: redirectBoundaries[count].refusal.take(), time: boundary.time, stepCount: boundary.stepCount,
            redirectCount: count)
        transferEnds.insert(end, at: transferEnds.firstIndex { $0.redirectCount > count } ?? transferEnds.count)
    }

    /// Records that a request is given to a handler.
    package mutating func recordRequest() { requestCount += 1 }

    /// Records that a redirect is followed. Later steps belong to the next request.
    ///
    /// - Parameter isUpgrade: whether the redirect comes from HSTS.
    package mutating func recordRedirect(at time: Duration, isUpgrade: Bool = false) {
        redirectCount += 1
        if isUpgrade { upgradeCount += 1 }
        guard redirectBoundaries.count < Self.entryLimit else { return }
        redirectBoundaries.append(Boundary(time: time, stepCount: steps.count, refusal: pendingRefusal.take()))
    }

    /// Records that the request is sent again after `response`. The report of its transfer follows.
    package mutating func recordResend(after response: Response) {
        requestCount += 1
        pendingRefusal = response.status.map { HTTPResponse(status: $0, headerFields: response.fields) }
    }
}
