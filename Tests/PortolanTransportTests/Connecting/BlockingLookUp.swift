// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import TestThreads

@testable import PortolanTransport

/// A look-up function for a resolver. It returns 127.0.0.1. For names that begin with `slow`, it blocks until the test
/// calls ``release()``; for names that begin with `missing`, it fails.
final class BlockingLookUp: Sendable {
    private struct State {
        var startedNames: [String] = []
        var isBlocking = true
    }

    private let state = ConditionLock(State())

    /// The names, in the order in which their look-ups began.
    var startedNames: [String] { state.withLock { $0.startedNames } }

    func release() { state.withLockBroadcasting { $0.isBlocking = false } }

    /// Waits on a separate thread until `count` look-ups have begun, for at most 30 seconds.
    func waitForLookUps(_ count: Int) async throws -> Bool {
        try await inOwnThread { [self] in state.wait(atMost: .seconds(30)) { $0.startedNames.count >= count ? true : nil } ?? false }
    }

    func makeResolver(limit: Int = 64) -> DNSResolver {
        DNSResolver(limit: limit) { [self] name in
            state.withLockBroadcasting { $0.startedNames.append(name) }
            if name.hasPrefix("slow") { state.wait { $0.isBlocking ? nil : () } }
            if name.hasPrefix("missing") { throw NameError(status: -2) }
            return [SocketAddress(IPAddress(bytes: [127, 0, 0, 1]), port: 0)]
        }
    }
}

extension DNSResolver {
    /// The addresses of the name, as an async call.
    func addresses(of name: String) async throws -> [SocketAddress] {
        // Not a continuation, because a continuation traps if it is resumed twice.
        let (results, output) = AsyncStream.makeStream(of: LookUpResult.self)
        _ = resolve(name) { output.yield($0) }
        for await result in results { return try result.get() }
        throw CancellationError()
    }
}
