// SPDX-License-Identifier: Apache-2.0

// The peer "URLSession": Foundation's loader on Linux. One load is `URLSession.shared.data(from:)`, awaited, with its whole body in memory,
// as Loader.data(from:) gives it; the URL is made from text in each load, as Portolan makes its own. It has no file: here, so that it
// stands beside data: only.

import CTally
import Foundation
import FoundationNetworking

enum URLSessionPeer {
    static func load(_ text: String) async throws -> bench_tally {
        guard let url = URL(string: text) else { throw Missing("Foundation takes \(text.prefix(40)) for no URL") }
        let (body, _) = try await URLSession.shared.data(from: url)
        return bench_tally(of: body.bytes)
    }

    /// `times` loads, one after another.
    static func contender(loading text: String, times: Int, amount: Int) -> Contender {
        Contender("URLSession", amount: amount) {
            var tally = bench_tally()
            for _ in 0..<times { tally += try await load(text) }
            return tally
        }
    }
}
