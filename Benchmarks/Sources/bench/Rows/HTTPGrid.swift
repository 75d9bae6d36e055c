// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Measures the cost of an http: load, depending on the number of loads in flight and the size of the bodies. The rows
/// have no budgets and are only informative.
///
/// The value is the time per load for small bodies, and the time per gigabyte for large bodies. The grid leaves out
/// combinations that would read more than 2 GiB in a run.
enum HTTPGrid {
    private static let loadCounts = [1, 16, 64, 256]
    private static let sizes = [1 << 10, 32 << 10, 1 << 20, 32 << 20, 1 << 30]

    /// The rows in the order of the table.
    static let all = sizes.flatMap { size in
        loadCounts.compactMap { count -> RowMaker? in
            let times = max(count, min(8192, (1 << 30) / size))
            guard times * size <= 2 << 30 else { return nil }
            let name = Fixture.name(size)
            return RowMaker(name: "grid-\(count)x\(name)", summary: "http: \(name), \(count) in flight, delegate") { fixture in
                try make(fixture, size: size, times: times, inFlight: count)
            }
        }
    }

    private static func make(_ fixture: Fixture, size: Int, times: Int, inFlight count: Int) throws -> Row {
        let target = try fixture.target(size)
        let isLarge = size >= 1 << 20
        let amount = isLarge ? times * size : times
        let options = isLarge ? CurlHandle.Options.largeBuffer : CurlHandle.Options()
        let chained = try PortolanLoads.chained(target, times: times, inFlight: count, with: manyConnectionsLoader)
        return Row(
            unit: isLarge ? .secondsPerGigabyte : .microseconds,
            subject: Competitor(chained.name, amount: amount, run: chained.run),
            peers: [
                try LibCurlMulti.competitor(loading: target.url, options, times: times, inFlight: count, amount: amount),
                try AsyncHTTPClientPeer.chained(target, times: times, inFlight: count, amount: amount),
                try RawSocketLoop.competitor(target, times: times, inFlight: count, amount: amount),
            ],
            budget: .none)
    }

    /// A loader that allows one connection to the host for each load.
    private static let manyConnectionsLoader: Loader = {
        var http = HTTPConfiguration()
        http.connectionLimits.perHost = loadCounts.max() ?? 1
        var configuration = Loader.Configuration()
        configuration.handlers = [HTTPHandler(configuration: http)]
        return Loader(configuration: configuration)
    }()
}
