// SPDX-License-Identifier: Apache-2.0

/// Measures large bodies over http: and https:, streamed to a delegate.
enum HTTPBulkRows {
    private static let size = 1 << 30

    /// The processor time to load 1 GiB over http:. URLSession loads 64 MiB, because it is slow.
    static func http(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size)
        let short = try fixture.target(size / 16)
        return Row(
            unit: .secondsPerGigabyte, subject: try PortolanLoads.streamed(target, amount: size),
            peers: try peers(target) + [try URLSessionPeer.streamed(short, amount: short.size)],
            budget: .atMost(1.15, of: RawSocketLoop.name))
    }

    /// The processor time to load 1 GiB over https: with HTTP/1.1.
    static func https1(_ fixture: Fixture) throws -> Row { try makeTLSRow(fixture, usesHTTP2: false) }

    /// The processor time to load 1 GiB over https: with HTTP/2.
    static func https2(_ fixture: Fixture) throws -> Row { try makeTLSRow(fixture, usesHTTP2: true) }

    /// URLSession is not a peer, because on Linux it trusts only the certificate authorities of the system.
    private static func makeTLSRow(_ fixture: Fixture, usesHTTP2: Bool) throws -> Row {
        let target = try fixture.secureTarget(size, usesHTTP2: usesHTTP2)
        return Row(
            unit: .secondsPerGigabyte, subject: try PortolanLoads.streamed(target, amount: size), peers: try peers(target),
            budget: .atMost(1, of: LibCurl.nameOfLarge).and(.atMost(1, of: LibCurl.name)))
    }

    /// The peak resident memory during a load of 1 GiB, minus the resident memory after a small load. Each competitor
    /// runs in a separate process.
    static func memory(_ fixture: Fixture) throws -> Row {
        let (small, large) = (try fixture.target(1 << 10), try fixture.target(size))
        let reports = Sampler.Reports()
        let names = [PortolanLoads.name] + (try peers(large)).map(\.name)
        let competitors = names.map { name in
            Competitor(name, amount: 1) { try MemoryReport.runProcess(name, small, large, into: reports) }
        }
        return Row(
            unit: .mebibytes, sampler: .reports(reports), subject: competitors[0], peers: Array(competitors.dropFirst()),
            budget: .atMost(16, .mebibytes))
    }

    /// The peak memory while a delegate pauses 64 loads of 1 GiB.
    static func pausedMemory(_ fixture: Fixture) throws -> Row {
        let (small, large) = (try fixture.target(1 << 10), try fixture.target(size))
        let reports = Sampler.Reports()
        let subject = Competitor(PortolanLoads.name, amount: 1) {
            try MemoryReport.runProcess(try pausedLoads(large).name, small, large, into: reports)
        }
        return Row(unit: .mebibytes, sampler: .reports(reports), subject: subject, peers: [], budget: .atMost(128, .mebibytes))
    }

    private static func pausedLoads(_ target: HTTPTarget) throws -> Competitor { try PausedLoads.competitor(target, count: 64) }

    /// Returns the competitor with this name. `64 paused` is Portolan with 64 paused loads. All others stream `target`.
    static func competitor(named name: String, loading target: HTTPTarget) throws -> Competitor {
        let all = [try PortolanLoads.streamed(target, amount: target.size), try pausedLoads(target)] + (try peers(target))
        guard let match = all.first(where: { $0.name == name }) else { throw MeasurementError("there is no competitor '\(name)'") }
        return match
    }

    private static func peers(_ target: HTTPTarget) throws -> [Competitor] {
        let security = target.security
        let raw =
            security?.usesHTTP2 == true
            ? try HTTP2Loop.competitor(target, times: 1, amount: target.size)
            : try RawSocketLoop.competitor(target, times: 1, amount: target.size)
        let large = CurlHandle.Options(bufferSize: CurlHandle.Options.largeBuffer.bufferSize, security: security)
        let peers: [Competitor?] = [
            raw, try LibCurl.competitor(LibCurl.nameOfLarge, loading: target.url, large, amount: target.size),
            try LibCurl.competitor(loading: target.url, CurlHandle.Options(security: security), amount: target.size),
            try AsyncHTTPClientPeer.streamed(target, amount: target.size),
        ]
        return peers.compactMap { $0 }
    }
}
