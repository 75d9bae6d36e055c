// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// When a load did what. ``timings`` has it by request and phase.
public struct LoadMetrics: Hashable, Sendable {
    /// Time from the start of the load to each step that handlers reported, in order; each request that is sent brings its own. The first 1024.
    public private(set) var steps: [Step] = []
    /// What went over the wire, one for each request that was sent, in order: those that led to a redirect or a question for a password, too.
    /// Empty where the protocol has no wire. The first 1024.
    public var transfers: [TransferReport] { ends.map(\.report) }
    public internal(set) var redirectCount = 0
    /// Time from the start to the first response.
    public internal(set) var response: Duration?
    /// Time from the start to the end.
    public internal(set) var end: Duration?
    /// Where in ``steps`` each request ends.
    private(set) var ends: [TransferEnd] = []

    /// The response after which the current request is sent again.
    private var refusal: HTTPResponse?

    private static let limit = 1024

    package init() {}

    public struct Step: Hashable, Sendable {
        public let step: LoadStep
        public let time: Duration
    }

    /// One request and its answer are over.
    struct TransferEnd: Hashable, Sendable {
        let report: TransferReport
        let refusal: HTTPResponse?
        let time: Duration
        /// How many steps came before.
        let stepCount: Int
    }

    /// - Returns: whether there was room for it.
    @discardableResult
    package mutating func note(_ step: LoadStep, at time: Duration) -> Bool {
        if steps.isEmpty { steps.reserveCapacity(4) }  // of an exchange on a connection that is used again there are three
        guard steps.count < Self.limit else { return false }
        steps.append(Step(step: step, time: time))
        return true
    }

    package mutating func note(_ report: TransferReport, at time: Duration) {
        guard ends.count < Self.limit else { return }
        ends.append(TransferEnd(report: report, refusal: refusal.take(), time: time, stepCount: steps.count))
    }

    /// The request is sent again after `response`; the report of its transfer follows.
    package mutating func note(refusal response: Response) {
        refusal = response.status.map { HTTPResponse(status: $0, headerFields: response.fields) }
    }
}
