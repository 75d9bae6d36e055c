// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Compares events of the Echo plugin, which uses the Swift kit, with those of an equivalent C plugin (Plugins/Echo).
/// Both are event-driven, and both go through the host to a delegate.
enum EchoRows {
    /// Events of 64 KiB, the default size of Echo.
    static func defaultSize(_ fixture: Fixture) throws -> Row { try row(fixture, count: 8192, length: 65536) }

    /// Events of 64 bytes, as in the row boundary-event, to measure the cost per event.
    static func small(_ fixture: Fixture) throws -> Row { try row(fixture, count: 1_000_000, length: 64) }

    private static func row(_ fixture: Fixture, count: Int, length: Int) throws -> Row {
        let query = "size?bytes=\(count * length)&piece=\(length)"
        let kitCompetitor = try competitor("portolan", "echo:\(query)", try fixture.loader(withPlugin: "echo.so"), count)
        let cCompetitor = try competitor("C", "echo-c:\(query)", try fixture.loader(withPlugin: "echo-c.so"), count)
        return Row(unit: .nanoseconds, subject: kitCompetitor, peers: [cCompetitor], budget: .atMost(1.2, of: "C"))
    }

    private static func competitor(_ name: String, _ url: String, _ loader: Loader, _ count: Int) throws -> Competitor {
        let request = try Request(url)
        return Competitor(name, amount: count) { try await TallyingDelegate.load(request, with: loader) }
    }
}
