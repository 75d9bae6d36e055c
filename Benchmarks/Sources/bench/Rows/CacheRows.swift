// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Measures loads that a cache answers.
enum CacheRows {
    private static let size = 1 << 10
    private static let (times, hitTimes, fewTimes) = (20_000, 200_000, 5_000)

    /// A fresh response in memory, in the delegate form.
    static func memory(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size, .fresh)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: hitTimes, with: loader(ResponseCache())),
            peers: [try URLSessionPeer.chained(target, times: fewTimes, inFlight: 1, withCache: true)],
            budget: .atMost(4, .microseconds))
    }

    /// A response that the server confirms with a 304 each time.
    static func validated(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size, .validated)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: times, with: loader(ResponseCache())),
            peers: [
                try PortolanLoads.chained(target, times: times, with: Loader(configuration: .init()), name: "plain"),
                try URLSessionPeer.chained(target, times: fewTimes / 10, inFlight: 1, withCache: true),
            ],
            budget: .atMost(1.15, of: "plain"))
    }

    private static func loader(_ cache: ResponseCache) -> Loader {
        var configuration = Loader.Configuration()
        configuration.cache = cache
        return Loader(configuration: configuration)
    }
}
