// SPDX-License-Identifier: Apache-2.0

import CTally
import FoundationEssentials
import Portolan

/// What is measured, in each of its forms: http: with the shared loader, as programs use it.
enum PortolanLoads {
    static let name = "portolan"

    /// The delegate form, `count` loads in flight; the next is started from the end of the last.
    static func chained(_ target: HTTPTarget, times: Int, inFlight count: Int = 1, with loader: Loader = .shared) throws -> Contender {
        let request = try Request(target.url)
        return Contender(name, amount: times) { try await LoadChains.load(request, times: times, inFlight: count, with: loader) }
    }

    /// `data(for:)`, awaited.
    static func awaited(_ target: HTTPTarget, times: Int, with loader: Loader = .shared) throws -> Contender {
        let request = try Request(target.url)
        return Contender(name, amount: times) {
            var tally = bench_tally()
            for _ in 0..<times {
                let (body, _) = try await loader.data(for: request)
                tally += bench_tally(of: body.bytes)
            }
            return tally
        }
    }

    /// `waitForData(for:)` on a thread of its own.
    static func blocking(_ target: HTTPTarget, times: Int, with loader: Loader = .shared) throws -> Contender {
        let request = try Request(target.url)
        return Contender(name, amount: times) {
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

    /// One load, streamed to a delegate.
    static func streamed(_ target: HTTPTarget, amount: Int, with loader: Loader = .shared) throws -> Contender {
        let request = try Request(target.url)
        return Contender(name, amount: amount) { try await TallyingDelegate.load(request, with: loader) }
    }
}
