// SPDX-License-Identifier: Apache-2.0

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

    private static let limit = 1024

    package init() {}

    public struct Step: Hashable, Sendable {
        public let step: LoadStep
        public let time: Duration
    }

    /// One request and its answer are over.
    struct TransferEnd: Hashable, Sendable {
        let report: TransferReport
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
        if ends.count < Self.limit { ends.append(TransferEnd(report: report, time: time, stepCount: steps.count)) }
    }
}
