// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Measures `http:` loads of 1 KiB over persistent connections, in each form of the API.
enum HTTPRows {
    private static let size = 1 << 10
    /// The numbers of loads per run, smaller for slow competitors.
    private static func counts(_ fixture: Fixture) -> (count: Int, smallCount: Int, smallestCount: Int) {
        (fixture.loadCount(20_000), fixture.loadCount(5_000), fixture.loadCount(500))
    }

    /// The delegate form. The end of a load starts the next load.
    static func get(_ fixture: Fixture) throws -> Row {
        let (count, smallCount, smallestCount) = counts(fixture)
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: count),
            peers: [
                try LibCurl.competitor(loading: target.url, times: count, amount: count),
                try AsyncHTTPClientPeer.chained(target, times: smallCount),
                try URLSessionPeer.chained(target, times: smallestCount, inFlight: 1),
                try RawSocketLoop.competitor(target, times: count, amount: count),
            ],
            budget: .atMost(0.7, of: LibCurl.name, over: RawSocketLoop.name))
    }

    /// The delegate form with a loader whose storages for cookies, HSTS hosts and responses are empty. The response has
    /// `no-store` and sets nothing, so they stay empty.
    static func policies(_ fixture: Fixture) throws -> Row {
        let count = counts(fixture).count
        let target = try fixture.target(size, .unstored)
        var configuration = Loader.Configuration.ephemeral
        configuration.cache = ResponseCache()
        let (loaderWithStorages, loaderWithoutStorages) = (Loader(configuration: configuration), Loader(configuration: .init()))
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: count, with: loaderWithStorages),
            peers: [try PortolanLoads.chained(target, times: count, with: loaderWithoutStorages, name: "without")],
            budget: .atMost(1.03, of: "without"))
    }

    /// The blocking form.
    static func blocking(_ fixture: Fixture) throws -> Row {
        let count = counts(fixture).count
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.blocking(target, times: count),
            peers: [
                try LibCurl.competitor(loading: target.url, times: count, amount: count),
                try RawSocketLoop.competitor(target, times: count, amount: count),
            ],
            budget: .atMost(1, of: LibCurl.name, over: RawSocketLoop.name))
    }

    /// The asynchronous form.
    static func awaited(_ fixture: Fixture) throws -> Row {
        let (count, smallCount, smallestCount) = counts(fixture)
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.awaited(target, times: count),
            peers: [
                try LibCurl.competitor(loading: target.url, times: count, amount: count),
                AsyncHTTPClientPeer.awaited(target, times: smallCount),
                try AsyncHTTPClientPeer.awaitedFuture(target, times: smallCount),
                URLSessionPeer.competitor(loading: target.url, times: smallestCount, amount: smallestCount),
                try RawSocketLoop.competitor(target, times: count, amount: count),
            ],
            budget: .atMost(0.5, of: AsyncHTTPClientPeer.name).and(.atMost(0.2, of: URLSessionPeer.name)))
    }

    /// 64 loads in flight, in the delegate form.
    static func concurrent(_ fixture: Fixture) throws -> Row {
        let (count, smallCount, smallestCount) = counts(fixture)
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: count, inFlight: 64),
            peers: [
                try LibCurlMulti.competitor(loading: target.url, times: count, inFlight: 64, amount: count),
                try LibCurlMulti.competitor(loading: target.url, times: count, inFlight: 64, amount: count, polls: true),
                try AsyncHTTPClientPeer.chained(target, times: smallCount, inFlight: 64),
                try URLSessionPeer.chained(target, times: smallestCount, inFlight: 64),
                try RawSocketLoop.competitor(target, times: count, inFlight: 64, amount: count),
            ],
            budget: .atMost(0.8, of: LibCurlMulti.name).and(.atMost(0.8, of: LibCurlMulti.nameOfPolling)))
    }

    /// 64 tasks, each of which awaits one load after another.
    static func awaitedConcurrent(_ fixture: Fixture) throws -> Row {
        let (count, smallCount, _) = counts(fixture)
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.awaited(target, times: count, inFlight: 64),
            peers: [
                try LibCurlMulti.competitor(loading: target.url, times: count, inFlight: 64, amount: count),
                try LibCurlMulti.competitor(loading: target.url, times: count, inFlight: 64, amount: count, polls: true),
                AsyncHTTPClientPeer.awaited(target, times: smallCount, inFlight: 64),
                try RawSocketLoop.competitor(target, times: count, inFlight: 64, amount: count),
            ],
            budget: .atMost(1.2, of: LibCurlMulti.name).and(.atMost(1.2, of: LibCurlMulti.nameOfPolling)))
    }
}
