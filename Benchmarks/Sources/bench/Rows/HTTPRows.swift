// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Measures http: loads of 1 KiB over persistent connections, in each form of the API.
enum HTTPRows {
    private static let size = 1 << 10
    /// The numbers of loads per run, smaller for slow competitors.
    private static func counts(_ fixture: Fixture) -> (times: Int, fewTimes: Int, fewestTimes: Int) {
        (fixture.loadCount(20_000), fixture.loadCount(5_000), fixture.loadCount(500))
    }

    /// The delegate form. The end of a load starts the next load.
    static func get(_ fixture: Fixture) throws -> Row {
        let (times, fewTimes, fewestTimes) = counts(fixture)
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: times),
            peers: [
                try LibCurl.competitor(loading: target.url, times: times, amount: times),
                try AsyncHTTPClientPeer.chained(target, times: fewTimes),
                try URLSessionPeer.chained(target, times: fewestTimes, inFlight: 1),
                try RawSocketLoop.competitor(target, times: times, amount: times),
            ],
            budget: .atMost(0.7, of: LibCurl.name, over: RawSocketLoop.name))
    }

    /// The delegate form with a loader whose storages for cookies, HSTS hosts and responses are empty. The response may
    /// not be stored, so they stay empty.
    static func policies(_ fixture: Fixture) throws -> Row {
        let times = counts(fixture).times
        let target = try fixture.target(size, .unstored)
        var configuration = Loader.Configuration.ephemeral
        configuration.cache = ResponseCache()
        let (loaderWithStorages, loaderWithoutStorages) = (Loader(configuration: configuration), Loader(configuration: .init()))
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: times, with: loaderWithStorages),
            peers: [try PortolanLoads.chained(target, times: times, with: loaderWithoutStorages, name: "without")],
            budget: .atMost(1.03, of: "without"))
    }

    /// The blocking form.
    static func blocking(_ fixture: Fixture) throws -> Row {
        let times = counts(fixture).times
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.blocking(target, times: times),
            peers: [
                try LibCurl.competitor(loading: target.url, times: times, amount: times),
                try RawSocketLoop.competitor(target, times: times, amount: times),
            ],
            budget: .atMost(1, of: LibCurl.name, over: RawSocketLoop.name))
    }

    /// The asynchronous form.
    static func awaited(_ fixture: Fixture) throws -> Row {
        let (times, fewTimes, fewestTimes) = counts(fixture)
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.awaited(target, times: times),
            peers: [
                try LibCurl.competitor(loading: target.url, times: times, amount: times),
                AsyncHTTPClientPeer.awaited(target, times: fewTimes),
                try AsyncHTTPClientPeer.awaitedFuture(target, times: fewTimes),
                URLSessionPeer.competitor(loading: target.url, times: fewestTimes, amount: fewestTimes),
                try RawSocketLoop.competitor(target, times: times, amount: times),
            ],
            budget: .atMost(0.5, of: AsyncHTTPClientPeer.name).and(.atMost(0.2, of: URLSessionPeer.name)))
    }

    /// 64 loads in flight, in the delegate form.
    static func concurrent(_ fixture: Fixture) throws -> Row {
        let (times, fewTimes, fewestTimes) = counts(fixture)
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: times, inFlight: 64),
            peers: [
                try LibCurlMulti.competitor(loading: target.url, times: times, inFlight: 64, amount: times),
                try LibCurlMulti.competitor(loading: target.url, times: times, inFlight: 64, amount: times, polls: true),
                try AsyncHTTPClientPeer.chained(target, times: fewTimes, inFlight: 64),
                try URLSessionPeer.chained(target, times: fewestTimes, inFlight: 64),
                try RawSocketLoop.competitor(target, times: times, inFlight: 64, amount: times),
            ],
            budget: .atMost(0.8, of: LibCurlMulti.name).and(.atMost(0.8, of: LibCurlMulti.nameOfPolling)))
    }

    /// 64 tasks, each of which awaits one load after another.
    static func awaitedConcurrent(_ fixture: Fixture) throws -> Row {
        let (times, fewTimes, _) = counts(fixture)
        let target = try fixture.target(size)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.awaited(target, times: times, inFlight: 64),
            peers: [
                try LibCurlMulti.competitor(loading: target.url, times: times, inFlight: 64, amount: times),
                try LibCurlMulti.competitor(loading: target.url, times: times, inFlight: 64, amount: times, polls: true),
                AsyncHTTPClientPeer.awaited(target, times: fewTimes, inFlight: 64),
                try RawSocketLoop.competitor(target, times: times, inFlight: 64, amount: times),
            ],
            budget: .atMost(1.2, of: LibCurlMulti.name).and(.atMost(1.2, of: LibCurlMulti.nameOfPolling)))
    }
}
