// SPDX-License-Identifier: Apache-2.0

/// How far a load is, at one moment.
public struct LoadProgress: Hashable, Sendable {
    /// Bytes of body received; of the current part, where there are several.
    public var received: Int64
    /// Bytes of body that the response announced.
    public var expected: Int64?
    /// Bytes of the request's body sent.
    public var sent: Int64
    public var expectedToSend: Int64?

    /// Between 0 and 1; `nil` where the length is not known.
    public var fractionReceived: Double? {
        guard let expected else { return nil }
        return expected == 0 ? 1 : min(1, Double(received) / Double(expected))
    }
}

/// When a load did what.
public struct LoadMetrics: Hashable, Sendable {
    /// Time from the start of the load to each step that handlers reported, in order; redirects bring a step again. The first 1024.
    public var steps: [Step] = []
    static let stepLimit = 1024
    /// What went over the wire, one for each request that was sent, in order; empty where the protocol has no wire. The first 1024.
    public var transfers: [TransferReport] = []
    public var redirectCount = 0
    /// Time from the start to the first response.
    public var response: Duration?
    /// Time from the start to the end.
    public var end: Duration?

    public struct Step: Hashable, Sendable {
        public let step: LoadStep
        public let time: Duration
    }
}
