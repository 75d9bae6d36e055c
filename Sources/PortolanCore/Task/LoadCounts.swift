// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The counts of ``LoadProgress``. Only the thread that delivers events changes them. Any thread can read them.
struct LoadCounts: ~Copyable, Sendable {
    private let received = Atomic<Int64>(0)
    private let expected = Atomic<Int64>(-1)
    private let sent = Atomic<Int64>(0)
    private let expectedToSend = Atomic<Int64>(-1)

    func beginBody(expected length: Int64?) {
        received.store(0, ordering: .relaxed)
        expected.store(length ?? -1, ordering: .relaxed)
    }

    /// - Returns: the number of bytes from the start of the body.
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
