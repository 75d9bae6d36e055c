// SPDX-License-Identifier: Apache-2.0

import PortolanPlugins

/// The loads of a target that did not end within their time limit, although the client did nothing unusual. Further
/// checks do not wait for them again.
///
/// A load is stored as its index in the target's list. Only the first 64 loads can be stored.
struct HungLoads: Hashable, Sendable {
    private var bits: UInt64 = 0

    /// The number of ``bytes``.
    static let size = 8

    init() {}

    /// - Parameter bytes: Exactly ``size`` bytes; otherwise the result is `nil`.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.size else { return nil }
        bits = bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    var bytes: [UInt8] { (0..<Self.size).map { UInt8(truncatingIfNeeded: bits >> (56 - 8 * $0)) } }

    /// Leaves out a load that hangs on purpose, and a load that needs a credential or a body, because the client may
    /// have given none.
    mutating func insert(_ url: String, of loads: [ConformanceLoad]) {
        for (index, load) in loads.prefix(64).enumerated() where load.url == url {
            if load.tags.isDisjoint(with: [.hangs, .challenges, .uploads]) { bits |= 1 << UInt64(index) }
        }
    }

    mutating func formUnion(_ other: Self) { bits |= other.bits }

    func contains(_ url: String, of loads: [ConformanceLoad]) -> Bool {
        bits != 0 && loads.prefix(64).enumerated().contains { $1.url == url && bits & (1 << UInt64($0)) != 0 }
    }
}
