// SPDX-License-Identifier: Apache-2.0

/// Measures https: loads of 1 KiB over persistent connections, with HTTP/1.1 and with HTTP/2, in the delegate form.
/// URLSession is not a peer, because on Linux it trusts only the certificate authorities of the system.
enum HTTPSRows {
    private static let size = 1 << 10
    /// The numbers of loads per run, smaller for slow competitors.
    private static func counts(_ fixture: Fixture) -> (times: Int, fewTimes: Int) { (fixture.loadCount(20_000), fixture.loadCount(5_000)) }

    static func http1(_ fixture: Fixture) throws -> Row { try get(fixture, usesHTTP2: false) }

    static func http2(_ fixture: Fixture) throws -> Row { try get(fixture, usesHTTP2: true) }

    static func http1Concurrent(_ fixture: Fixture) throws -> Row {
        try concurrent(
            fixture, usesHTTP2: false,
            budget: .atMost(0.8, of: LibCurlMulti.name).and(.atMost(0.8, of: LibCurlMulti.nameOfPolling)))
    }

    static func http2Concurrent(_ fixture: Fixture) throws -> Row {
        try concurrent(
            fixture, usesHTTP2: true,
            budget: .atMost(0.7, of: LibCurlMulti.name).and(.atMost(0.7, of: LibCurlMulti.nameOfPolling)).and(
                .atMost(0.4, of: AsyncHTTPClientPeer.name)))
    }

    /// One load at a time.
    private static func get(_ fixture: Fixture, usesHTTP2: Bool) throws -> Row {
        let (times, fewTimes) = counts(fixture)
        let target = try fixture.secureTarget(size, usesHTTP2: usesHTTP2)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: times),
            peers: [
                try LibCurl.competitor(loading: target.url, CurlHandle.Options(security: target.security), times: times, amount: times),
                try AsyncHTTPClientPeer.chained(target, times: fewTimes),
                try raw(target, times, inFlight: 1),
            ],
            budget: .atMost(0.7, of: LibCurl.name, over: RawSocketLoop.name))
    }

    /// 64 loads at the same time, each on a separate connection, or all as streams of one connection.
    private static func concurrent(_ fixture: Fixture, usesHTTP2: Bool, budget: Budget) throws -> Row {
        let (times, fewTimes) = counts(fixture)
        let target = try fixture.secureTarget(size, usesHTTP2: usesHTTP2)
        let options = CurlHandle.Options(security: target.security)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: times, inFlight: 64),
            peers: [
                try LibCurlMulti.competitor(loading: target.url, options, times: times, inFlight: 64, amount: times),
                try LibCurlMulti.competitor(loading: target.url, options, times: times, inFlight: 64, amount: times, polls: true),
                try AsyncHTTPClientPeer.chained(target, times: fewTimes, inFlight: 64),
                try raw(target, times, inFlight: 64),
            ], budget: budget)
    }

    private static func raw(_ target: HTTPTarget, _ times: Int, inFlight count: Int) throws -> Competitor {
        target.security?.usesHTTP2 == true
            ? try HTTP2Loop.competitor(target, times: times, inFlight: count, amount: times)
            : try RawSocketLoop.competitor(target, times: times, inFlight: count, amount: times)
    }
}
