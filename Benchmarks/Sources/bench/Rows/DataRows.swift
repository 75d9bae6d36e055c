// SPDX-License-Identifier: Apache-2.0

import CTally
import Foundation
import Portolan

/// Measures data: URLs with the asynchronous form that returns the whole body.
enum DataRows {
    /// 8 MiB as base64. The rate counts the decoded bytes; the text is a third larger.
    static func large(_ fixture: Fixture) throws -> Row {
        let size = 8 << 20
        var source = TestBytes(seed: 8)
        let prefix = "data:application/octet-stream;base64,"
        let url = prefix + source.noise(size).base64EncodedString()
        return Row(
            unit: .gigabytesPerSecond,
            subject: Competitor("portolan", amount: size) {
                let (body, _) = try await Loader.shared.data(from: url)
                return bench_tally(of: body.bytes)
            },
            peers: [
                URLSessionPeer.competitor(loading: url, times: 1, amount: size),
                Base64Loop.competitor(decoding: url, from: prefix.utf8.count, amount: size),
            ],
            budget: .atLeast(1, .gigabytesPerSecond))
    }

    /// An almost empty load, which measures the path through the loader.
    static func tiny(_ fixture: Fixture) throws -> Row {
        let times = 20_000
        let url = "data:,Hello"
        return Row(
            unit: .microseconds,
            subject: Competitor("portolan", amount: times) {
                var tally = bench_tally()
                for _ in 0..<times {
                    let (body, _) = try await Loader.shared.data(from: url)
                    tally += bench_tally(of: body.bytes)
                }
                return tally
            },
            peers: [URLSessionPeer.competitor(loading: url, times: 500, amount: 500)],
            budget: .atMost(3, .microseconds))
    }
}
