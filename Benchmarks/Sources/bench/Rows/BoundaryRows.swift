// SPDX-License-Identifier: Apache-2.0

import CTally
import FoundationEssentials
import Portolan

/// Measures the did_load calls of a C plugin, through the adapter and the core to the delegate of the caller. The peer
/// is the same loop in the same library, which calls a C client directly (Plugins/Events/events.c).
enum BoundaryRows {
    static func event(_ fixture: Fixture) throws -> Row {
        let count = 2_000_000
        let (through, direct) = try competitors(fixture, count: count, length: 64, amount: count)
        return Row(
            unit: .nanoseconds, subject: through, peers: [direct], budget: .atMost(40, .nanoseconds, over: "direct"))
    }

    static func bulk(_ fixture: Fixture) throws -> Row {
        let (count, length) = (4096, 1 << 20)
        let (through, direct) = try competitors(fixture, count: count, length: length, amount: count * length)
        return Row(unit: .gigabytesPerSecond, subject: through, peers: [direct], budget: .atLeast(0.8, of: "direct"))
    }

    private static func competitors(_ fixture: Fixture, count: Int, length: Int, amount: Int) throws -> (Competitor, Competitor) {
        let loader = try fixture.loader(withPlugin: "events.so")
        let through = try Request("events://through?count=\(count)&length=\(length)")
        let direct = try Request("events://direct?count=\(count)&length=\(length)")
        return (
            Competitor("portolan", amount: amount) { try await TallyingDelegate.load(through, with: loader) },
            Competitor("direct", amount: amount) {
                let (tally, _) = try await loader.data(for: direct)
                guard tally.count == MemoryLayout<bench_tally>.size else { throw MeasurementError("events://direct gave no tally") }
                return bench_tally(
                    count: unsafe tally.bytes.unsafeLoadUnaligned(as: UInt64.self),
                    sum: unsafe tally.bytes.unsafeLoadUnaligned(fromByteOffset: 8, as: UInt64.self))
            }
        )
    }
}
