// SPDX-License-Identifier: Apache-2.0

/// A row of the table: work that Portolan and other programs do, to compare their costs.
struct Row: Sendable {
    let unit: Unit
    let sampler: Sampler
    let subject: Competitor
    /// The peers. If the budget names one, it is the first.
    let peers: [Competitor]
    let budget: Budget

    /// - Parameter peers: `nil` stands for a peer that this build does not contain.
    init(unit: Unit, sampler: Sampler = .process, subject: Competitor, peers: [Competitor?], budget: Budget) {
        self.unit = unit
        self.sampler = sampler
        self.subject = subject
        self.peers = peers.compactMap { $0 }
        self.budget = budget
    }

    /// Returns the row with Portolan's work repeated in each run.
    func repeatingSubject(_ times: Int) -> Row {
        Row(unit: unit, sampler: sampler, subject: subject.repeating(times), peers: peers, budget: budget)
    }

    var withoutPeers: Row {
        Row(unit: unit, sampler: sampler, subject: subject, peers: [], budget: budget)
    }
}

/// The unit of a row's values, which are processor time or memory.
enum Unit: String, Sendable {
    /// Whether a larger value is better.
    var isRate: Bool { self == .gigabytesPerSecond }

    case gigabytesPerSecond = "GB/s"
    case nanoseconds = "ns"
    case microseconds = "µs"
    case milliseconds = "ms"
    case secondsPerGigabyte = "s/GB"
    case mebibytes = "MiB"

    /// - Parameters:
    ///   - cost: nanoseconds, or bytes of memory.
    ///   - amount: bytes for a rate, repetitions for a duration.
    func value(cost: Double, amount: Double) -> Double {
        switch self {
        case .gigabytesPerSecond: amount / cost
        case .nanoseconds, .secondsPerGigabyte: cost / amount
        case .microseconds: cost / amount / 1e3
        case .milliseconds: cost / amount / 1e6
        case .mebibytes: cost / amount / 0x1p20
        }
    }
}

/// The limits for the value of a row.
struct Budget: Sendable {
    /// A minimum or maximum for the value of the row.
    struct Limit: Sendable {
        let isMinimum: Bool
        /// Computes the limit in the unit of the row from the values of the peers by name. `nil` if a peer is missing.
        let value: @Sendable ([String: Double]) -> Double?
    }

    let text: String
    private let limits: [Limit]

    private init(_ text: String, _ limits: [Limit]) { (self.text, self.limits) = (text, limits) }

    private init(_ text: String, isMinimum: Bool, _ value: @escaping @Sendable ([String: Double]) -> Double?) {
        self.init(text, [Limit(isMinimum: isMinimum, value: value)])
    }

    /// - Parameters:
    ///   - value: the row's value.
    ///   - peers: the values of the peers, by name.
    func isKept(_ value: Double, _ peers: [String: Double]) -> Bool {
        limits.allSatisfy { limit in limit.value(peers).map { limit.isMinimum ? value >= $0 : value <= $0 } ?? false }
    }

    /// The known limits in the row's unit.
    func limits(_ peers: [String: Double]) -> [Double] { limits.compactMap { $0.value(peers) } }

    /// No limit, for a row that is only informative.
    static let none = Budget("none", [])

    static func atLeast(_ limit: Double, _ unit: Unit) -> Budget {
        Budget("≥ \(Figure.short(limit)) \(unit.rawValue)", isMinimum: true) { _ in limit }
    }

    static func atMost(_ limit: Double, _ unit: Unit) -> Budget {
        Budget("≤ \(Figure.short(limit)) \(unit.rawValue)", isMinimum: false) { _ in limit }
    }

    static func atLeast(_ factor: Double, of peer: String) -> Budget {
        Budget("≥ \(Figure.short(factor)) × \(peer)", isMinimum: true) { peers in peers[peer].map { factor * $0 } }
    }

    static func atMost(_ factor: Double, of peer: String) -> Budget {
        Budget("≤ \(Figure.short(factor)) × \(peer)", isMinimum: false) { peers in peers[peer].map { factor * $0 } }
    }

    static func atMost(_ limit: Double, _ unit: Unit, over peer: String) -> Budget {
        Budget("≤ \(Figure.short(limit)) \(unit.rawValue) over \(peer)", isMinimum: false) { peers in peers[peer].map { $0 + limit } }
    }

    /// Limits the cost above that of the raw loop, which does only the unavoidable work, to a multiple of the peer's
    /// cost above it.
    static func atMost(_ factor: Double, of peer: String, over raw: String) -> Budget {
        Budget("over \(raw) ≤ \(Figure.short(factor)) × \(peer)", isMinimum: false) { peers in
            guard let peer = peers[peer], let raw = peers[raw] else { return nil }
            return raw + factor * (peer - raw)
        }
    }

    func and(_ other: Budget) -> Budget { Budget("\(text), \(other.text)", limits + other.limits) }
}
