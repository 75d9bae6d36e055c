// SPDX-License-Identifier: Apache-2.0

import CTally
import FoundationEssentials
import Portolan

/// The competitors that load with Portolan, one for each form of the API. They use the shared loader for http:, as
/// programs do. For https:, they use a loader that trusts the certificate authority of the benchmarks.
enum PortolanLoads {
    static let name = "portolan"

    private static func loader(for target: HTTPTarget) -> Loader {
        guard let security = target.security else { return .shared }
        var http = HTTPConfiguration()
        http.tls.trustRoots = .only([.file(path: security.authority)])
        http.allowsHTTP2 = security.usesHTTP2
        var configuration = Loader.Configuration()
        configuration.handlers = [HTTPHandler(configuration: http)]
        return Loader(configuration: configuration)
    }

    /// Loads with a delegate, `count` at the same time. The end of a load starts the next one.
    static func chained(
        _ target: HTTPTarget, times: Int, inFlight count: Int = 1, with loader: Loader? = nil, name: String = name
    ) throws -> Competitor {
        let (request, loader) = (try Request(target.url), loader ?? self.loader(for: target))
        return Competitor(name, amount: times) { try await LoadChains.load(request, times: times, inFlight: count, with: loader) }
    }

    /// `data(for:)`, awaited in `count` concurrent tasks.
    static func awaited(_ target: HTTPTarget, times: Int, inFlight count: Int = 1, with loader: Loader? = nil) throws -> Competitor {
        let (request, loader) = (try Request(target.url), loader ?? self.loader(for: target))
        return Competitor(name, amount: times) {
            try await AwaitedLoads.run(times: times, inFlight: count) {
                let (body, _) = try await loader.data(for: request)
                return bench_tally(of: body.bytes)
            }
        }
    }

    /// `waitForData(for:)` on a separate thread.
    static func blocking(_ target: HTTPTarget, times: Int, with loader: Loader? = nil) throws -> Competitor {
        let (request, loader) = (try Request(target.url), loader ?? self.loader(for: target))
        return Competitor(name, amount: times) {
            try await BlockingThread.run {
                var tally = bench_tally()
                for _ in 0..<times {
                    let (body, _) = try loader.waitForData(for: request)
                    tally += bench_tally(of: body.bytes)
                }
                return tally
            }
        }
    }

    /// Loads that stream to a delegate, one after another.
    static func streamed(
        _ target: HTTPTarget, times: Int = 1, amount: Int, with loader: Loader? = nil, name: String = name
    ) throws -> Competitor {
        let (request, loader) = (try Request(target.url), loader ?? self.loader(for: target))
        return Competitor(name, amount: amount) {
            var tally = bench_tally()
            for _ in 0..<times { tally += try await TallyingDelegate.load(request, with: loader) }
            return tally
        }
    }
}
