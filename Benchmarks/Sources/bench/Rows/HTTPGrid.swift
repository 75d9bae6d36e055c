// SPDX-License-Identifier: Apache-2.0

import Portolan

/// What a load over http: costs, depending on how many are in flight and on how large the bodies are; for knowledge, without budgets.
///
/// Small bodies are told in time for a load, large ones in time for a gigabyte. What would read more than 2 GiB in a run is left out.
enum HTTPGrid {
    private static let flights = [1, 16, 64, 256]
    private static let sizes = [1 << 10, 32 << 10, 1 << 20, 32 << 20, 1 << 30]

    /// In the order of the table.
    static let all = sizes.flatMap { size in
        flights.compactMap { flight -> RowMaker? in
            let times = max(flight, min(8192, (1 << 30) / size))
            guard times * size <= 2 << 30 else { return nil }
            let name = Fixture.name(size)
            return RowMaker(name: "grid-\(flight)x\(name)", summary: "http: \(name), \(flight) in flight, delegate") { fixture in
                try make(fixture, size: size, times: times, inFlight: flight)
            }
        }
    }

    private static func make(_ fixture: Fixture, size: Int, times: Int, inFlight count: Int) throws -> Row {
        let target = try fixture.target(size)
        let isLarge = size >= 1 << 20
        let amount = isLarge ? times * size : times
        let options = isLarge ? CurlHandle.Options.largeBuffer : CurlHandle.Options()
        let chained = try PortolanLoads.chained(target, times: times, inFlight: count, with: wide)
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

    /// As many connections to one host as there are loads.
    private static let wide: Loader = {
        var http = HTTPConfiguration()
        http.connections.perHost = flights.max() ?? 1
        var configuration = Loader.Configuration.default
        configuration.handlers = [HTTPHandler(configuration: http)]
        return Loader(configuration: configuration)
    }()
}
