// SPDX-License-Identifier: Apache-2.0

import Foundation
import Portolan
import PortolanStore

/// Measures loads that a cache answers.
enum CacheRows {
    private static let (size, largeSize) = (1 << 10, 64 << 20)
    private static let (times, hitTimes, fewTimes) = (20_000, 200_000, 5_000)
    /// The number of loads of the large body in a run.
    private static let largeTimes = 4

    /// A fresh response in memory, in the delegate form.
    static func memory(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size, .fresh)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: hitTimes, with: loader(ResponseCache())),
            peers: [try URLSessionPeer.chained(target, times: fewTimes, inFlight: 1, cache: .inMemory)],
            budget: .atMost(4, .microseconds))
    }

    /// A response that the server confirms with a 304 each time.
    static func validated(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size, .validated)
        return Row(
            unit: .microseconds, subject: try PortolanLoads.chained(target, times: times, with: loader(ResponseCache())),
            peers: [
                try PortolanLoads.chained(target, times: times, with: Loader(configuration: .init()), name: "plain"),
                try URLSessionPeer.chained(target, times: fewTimes / 10, inFlight: 1, cache: .inMemory),
            ],
            budget: .atMost(1.15, of: "plain"))
    }

    /// A fresh response on disk, in the delegate form.
    static func disk(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(size, .fresh)
        let file = fixture.scratch + "/" + (try fixture.noiseFile(size))
        return Row(
            unit: .microseconds,
            subject: try PortolanLoads.chained(target, times: times, with: loaderWithDisk("cache", of: target, fixture)),
            peers: [
                ReadLoop.competitor(reading: file, size: size, times: times),
                try URLSessionPeer.chained(
                    target, times: fewTimes / 10, inFlight: 1, cache: .onDisk(folder: try fixture.emptyFolder("cache-urlsession"))),
            ],
            budget: .atMost(60, .microseconds).and(.atMost(3, of: ReadLoop.name)))
    }

    /// A large fresh response on disk, which is verified while it is read; beside a `file:` load of the same bytes, and
    /// the read loop.
    static func diskBulk(_ fixture: Fixture) throws -> Row {
        let target = try fixture.target(largeSize, .fresh)
        let file = fixture.scratch + "/" + (try fixture.noiseFile(largeSize))
        let fileTarget = HTTPTarget(url: URL(fileURLWithPath: file).absoluteString, size: largeSize)
        let loader = try loaderWithDisk("cache-64m", of: target, fixture)
        return Row(
            unit: .gigabytesPerSecond,
            subject: try PortolanLoads.streamed(target, times: largeTimes, amount: largeTimes * largeSize, with: loader),
            peers: [
                try PortolanLoads.streamed(fileTarget, times: largeTimes, amount: largeTimes * largeSize, name: "file"),
                ReadLoop.competitor(reading: file, times: largeTimes, amount: largeTimes * largeSize),
            ],
            budget: .atLeast(0.8, of: "file"))
    }

    private static func loader(_ cache: ResponseCache) -> Loader {
        var configuration = Loader.Configuration()
        configuration.cache = cache
        return Loader(configuration: configuration)
    }

    /// A loader with a new cache in a folder, which has the response of a target.
    private static func loaderWithDisk(_ folder: String, of target: HTTPTarget, _ fixture: Fixture) throws -> Loader {
        let cache = try ResponseCache.waitForOpen(folder: try fixture.emptyFolder(folder), byteLimit: 1 << 30)
        let loader = loader(cache)
        let request = try Request(target.url)
        var cachedRequest = request
        cachedRequest.cachePolicy = .onlyCached
        // A response that arrives faster than the disk can write it is not stored.
        for _ in 0..<20 {
            _ = try loader.waitForData(for: request)
            // `try?` because a response that is not stored is an error.
            if (try? loader.waitForData(for: cachedRequest)) != nil { return loader }
        }
        throw MeasurementError("the response of \(target.url) was not stored")
    }
}
