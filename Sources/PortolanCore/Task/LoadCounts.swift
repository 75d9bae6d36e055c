// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The counts behind ``LoadProgress``: written by the one thread that delivers, read by any.
struct LoadCounts: ~Copyable, Sendable {
    private let received = Atomic<Int64>(0)
    private let expected = Atomic<Int64>(-1)
    private let sent = Atomic<Int64>(0)
    private let expectedToSend = Atomic<Int64>(-1)

    func beginBody(expected length: Int64?) {
        received.store(0, ordering: .relaxed)
        expected.store(length ?? -1, ordering: .relaxed)
    }

    /// - Returns: the total.
    func receive(_ count: Int) -> Int64 {
        let total = received.load(ordering: .relaxed) + Int64(count)
        received.store(total, ordering: .relaxed)
        return total
    }

    func send(total: Int64, expected: Int64?) {
        sent.store(total, ordering: .relaxed)
        expectedToSend.store(expected ?? -1, ordering: .relaxed)
    }

    var progress: LoadProgress {
        func known(_ count: Int64) -> Int64? { count < 0 ? nil : count }
        return LoadProgress(
            bytesReceived: received.load(ordering: .relaxed), expectedBytesToReceive: known(expected.load(ordering: .relaxed)),
            bytesSent: sent.load(ordering: .relaxed), expectedBytesToSend: known(expectedToSend.load(ordering: .relaxed)))
    }
}
