// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import TestThreads

@testable import PortolanTransport

/// A look-up that returns 127.0.0.1. Names that begin with `slow` block until `release()`.
final class HeldNames: Sendable {
    private struct State {
        var lookedUp: [String] = []
        var isHolding = true
    }

    private let monitor = ConditionLock(State())

    /// The names in the order in which their look-ups began.
    var lookedUp: [String] { monitor.withLock { $0.lookedUp } }

    func release() { monitor.withLockBroadcasting { $0.isHolding = false } }

    /// Waits on a separate thread until `count` look-ups have begun, for at most 30 seconds.
    func haveBegun(_ count: Int) async throws -> Bool {
        try await inOwnThread { [self] in monitor.wait(atMost: .seconds(30)) { $0.lookedUp.count >= count ? true : nil } ?? false }
    }

    func service(limit: Int = 64) -> DNSResolver {
        DNSResolver(limit: limit) { [self] name in
            monitor.withLockBroadcasting { $0.lookedUp.append(name) }
            if name.hasPrefix("slow") { monitor.wait { $0.isHolding ? nil : () } }
            if name.hasPrefix("missing") { throw NameError(status: -2) }
            return [SocketAddress(IPAddress(bytes: [127, 0, 0, 1]), port: 0)]
        }
    }
}

extension DNSResolver {
    func addresses(of name: String) async throws -> [SocketAddress] {
        // Not a continuation, because a continuation traps if it is resumed twice.
        let (results, output) = AsyncStream.makeStream(of: Answer.self)
        _ = find(name) { output.yield($0) }
        for await result in results { return try result.get() }
        throw CancellationError()
    }
}
