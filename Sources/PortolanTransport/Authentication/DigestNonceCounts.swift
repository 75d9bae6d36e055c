// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How often each nonce was used (`nc`), for the loads of one handler.
///
/// A server can send the same nonce in the challenges of several loads. It accepts each count once.
///
/// RFC 7616 §3.4
package final class DigestNonceCounts: Sendable {
    /// A nonce of a realm of a server or proxy.
    package struct Key: Hashable, Sendable {
        let peer: String
        let realm: [UInt8]
        let nonce: [UInt8]
    }

    private struct State {
        var counts: [Key: UInt32] = [:]
        /// The oldest first.
        var keys: [Key] = []
    }

    /// The maximum number of nonces. If there are more, the older half is forgotten.
    private static let limit = 512
    private let state = Mutex(State())

    package init() {}

    /// Counts a use of a nonce, and returns its number, from 1.
    func next(for key: Key) -> UInt32 {
        state.withLock { state in
            if let count = state.counts[key] {
                state.counts[key] = count &+ 1
                return count &+ 1
            }
            if state.keys.count >= Self.limit {
                for oldKey in state.keys.prefix(Self.limit / 2) { state.counts[oldKey] = nil }
                state.keys.removeFirst(Self.limit / 2)
            }
            state.counts[key] = 1
            state.keys.append(key)
            return 1
        }
    }
}
