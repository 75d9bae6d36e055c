// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// The times of a load's steps. ``timings`` groups them by request and phase.
public struct LoadMetrics: Hashable, Sendable {
    /// Time from the start of the load to each step that handlers reported, in order. Each request that is sent has its
    /// own steps. Only the first 1024.
    package private(set) var steps: [Step] = []
    /// One report for each request that was sent over a network, in order, including those that led to a redirect or to
    /// a request for a password. Empty if the protocol uses no network. Only the first 1024.
    package var transfers: [TransferReport] { ends.map(\.report) }
    public private(set) var redirectCount = 0
    /// Time from the start to the first response.
    public internal(set) var timeToResponse: Duration?
    /// Time from the start to the end.
    public internal(set) var timeToEnd: Duration?
    /// Where each request ends in ``steps``.
    private(set) var ends: [TransferEnd] = []
    /// Where the requests before each redirect end.
    private var redirects: [Boundary] = []

    /// The response after which the current request is sent again.
    private var refusal: HTTPResponse?

    private static let limit = 1024

    package init() {}

    package struct Step: Hashable, Sendable {
        package let step: LoadStep
        package let time: Duration
    }

    /// The end of one request and its response.
    struct TransferEnd: Hashable, Sendable {
        let report: TransferReport
        let refusal: HTTPResponse?
        let time: Duration
        /// The number of steps before it.
        let stepCount: Int
        /// The number of redirects before it.
        fileprivate let redirectCount: Int
    }

    /// A moment between two requests.
    private struct Boundary: Hashable {
        let time: Duration
        /// The number of steps before it.
        let stepCount: Int
        /// The response after which the request before it is sent again, until a report takes it.
        var refusal: HTTPResponse?
    }

    /// - Returns: whether there was room for the step.
    @discardableResult
    package mutating func note(_ step: LoadStep, at time: Duration) -> Bool {
        if steps.isEmpty { steps.reserveCapacity(4) }  // a transaction on a reused connection has three
        guard steps.count < Self.limit else { return false }
        steps.append(Step(step: step, time: time))
        return true
    }

    /// - Parameter count: the number of redirects before the request. The report of a redirected request may come when
    ///   the next request has already begun.
    package mutating func note(_ report: TransferReport, at time: Duration, afterRedirects count: Int = 0) {
        guard ends.count < Self.limit else { return }
        guard count < redirects.count else {
            let refusal = refusal.take()
            return ends.append(
                TransferEnd(report: report, refusal: refusal, time: time, stepCount: steps.count, redirectCount: count))
        }
        let boundary = redirects[count]
        let end = TransferEnd(
            report: report, refusal: redirects[count].refusal.take(), time: boundary.time, stepCount: boundary.stepCount,
            redirectCount: count)
        ends.insert(end, at: ends.firstIndex { $0.redirectCount > count } ?? ends.count)
    }

    /// A redirect is followed: the next steps are those of another request.
    package mutating func noteRedirect(at time: Duration) {
        redirectCount += 1
        if redirects.count < Self.limit { redirects.append(Boundary(time: time, stepCount: steps.count, refusal: refusal.take())) }
    }

    /// The request is sent again after `response`. The report of its transfer follows.
    package mutating func note(refusal response: Response) {
        refusal = response.status.map { HTTPResponse(status: $0, headerFields: response.fields) }
    }
}
