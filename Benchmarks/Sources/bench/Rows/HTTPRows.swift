// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Measures http: loads of 1 KiB over persistent connections, in each of the caller's forms.
enum HTTPRows {
    private static let size = 1 << 10
    /// The numbers of loads per run; slow competitors load less often.
    private static let (often, seldom, rarely) = (20_000, 5_000, 500)

    /// The delegate form; the next load starts when the last one ends.
    static func get(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: often),
            peers: [
                try LibCurl.competitor(loading: target.url, times: often, amount: often),
                try AsyncHTTPClientPeer.chained(target, times: seldom),
                try URLSessionPeer.chained(target, times: rarely, inFlight: 1),
                try RawSocketLoop.competitor(target, times: often, amount: often),
            ],
            budget: .atMost(0.7, of: LibCurl.name, over: RawSocketLoop.name))
    }

    /// The delegate form, by a loader that keeps cookies and HSTS hosts, and has none.
    static func policies(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size)
        let (with, without) = (Loader(configuration: .ephemeral), Loader(configuration: .init()))
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: often, with: with),
            peers: [try PortolanLoads.chained(target, times: often, with: without, name: "without")],
            budget: .atMost(1.03, of: "without"))
    }

    /// The blocking form.
    static func blocking(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.blocking(target, times: often),
            peers: [
                try LibCurl.competitor(loading: target.url, times: often, amount: often),
                try RawSocketLoop.competitor(target, times: often, amount: often),
            ],
            budget: .atMost(1, of: LibCurl.name, over: RawSocketLoop.name))
    }

    /// The asynchronous form.
    static func awaited(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.awaited(target, times: often),
            peers: [
                try LibCurl.competitor(loading: target.url, times: often, amount: often),
                AsyncHTTPClientPeer.awaited(target, times: seldom),
                try AsyncHTTPClientPeer.awaitedFuture(target, times: seldom),
                URLSessionPeer.competitor(loading: target.url, times: rarely, amount: rarely),
                try RawSocketLoop.competitor(target, times: often, amount: often),
            ],
            budget: .atMost(0.5, of: AsyncHTTPClientPeer.name).and(.atMost(0.2, of: URLSessionPeer.name)))
    }

    /// 64 loads in flight, in the delegate form.
    static func concurrent(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: often, inFlight: 64),
            peers: [
                try LibCurlMulti.competitor(loading: target.url, times: often, inFlight: 64, amount: often),
                try LibCurlMulti.competitor(loading: target.url, times: often, inFlight: 64, amount: often, polls: true),
                try AsyncHTTPClientPeer.chained(target, times: seldom, inFlight: 64),
                try URLSessionPeer.chained(target, times: rarely, inFlight: 64),
                try RawSocketLoop.competitor(target, times: often, inFlight: 64, amount: often),
            ],
            budget: .atMost(0.8, of: LibCurlMulti.name).and(.atMost(0.8, of: LibCurlMulti.nameOfPolling)))
    }

    /// 64 tasks, each of which awaits one load after another.
    static func awaitedConcurrent(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.awaited(target, times: often, inFlight: 64),
            peers: [
                try LibCurlMulti.competitor(loading: target.url, times: often, inFlight: 64, amount: often),
                try LibCurlMulti.competitor(loading: target.url, times: often, inFlight: 64, amount: often, polls: true),
                AsyncHTTPClientPeer.awaited(target, times: seldom, inFlight: 64),
                try RawSocketLoop.competitor(target, times: often, inFlight: 64, amount: often),
            ],
            budget: .atMost(1.2, of: LibCurlMulti.name).and(.atMost(1.2, of: LibCurlMulti.nameOfPolling)))
    }
}
