// SPDX-License-Identifier: Apache-2.0

/// A row of the table, ready to be measured: the same work, done by Portolan and by others.
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

/// The limit for the value of a row.
struct Budget: Sendable {
    let text: String
    /// - Parameters: the value, and the values of the peers by name.
    let isKept: @Sendable (Double, [String: Double]) -> Bool

    private init(_ text: String, isKept: @escaping @Sendable (Double, [String: Double]) -> Bool) {
        self.text = text
        self.isKept = isKept
    }

    /// For a row that is only informative.
    static let none = Budget("none") { _, _ in true }

    static func atLeast(_ limit: Double, _ unit: Unit) -> Budget {
        Budget("≥ \(Figure.short(limit)) \(unit.rawValue)") { value, _ in value >= limit }
    }

    static func atMost(_ limit: Double, _ unit: Unit) -> Budget {
        Budget("≤ \(Figure.short(limit)) \(unit.rawValue)") { value, _ in value <= limit }
    }

    static func atLeast(_ factor: Double, of peer: String) -> Budget {
        Budget("≥ \(Figure.short(factor)) × \(peer)") { value, peers in peers[peer].map { value >= factor * $0 } ?? false }
    }

    static func atMost(_ factor: Double, of peer: String) -> Budget {
        Budget("≤ \(Figure.short(factor)) × \(peer)") { value, peers in peers[peer].map { value <= factor * $0 } ?? false }
    }

    static func atMost(_ limit: Double, _ unit: Unit, over peer: String) -> Budget {
        Budget("≤ \(Figure.short(limit)) \(unit.rawValue) over \(peer)") { value, peers in peers[peer].map { value - $0 <= limit } ?? false
        }
    }

    /// Compares the costs above those of the raw loop, which does only the unavoidable work.
    static func atMost(_ factor: Double, of peer: String, over raw: String) -> Budget {
        Budget("over \(raw) ≤ \(Figure.short(factor)) × \(peer)") { value, peers in
            guard let peer = peers[peer], let raw = peers[raw] else { return false }
            return value - raw <= factor * (peer - raw)
        }
    }

    func and(_ other: Budget) -> Budget {
        Budget("\(text), \(other.text)") { [isKept] value, peers in isKept(value, peers) && other.isKept(value, peers) }
    }
}
