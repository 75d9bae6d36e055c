// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The counts of ``LoadProgress``. Only the thread that delivers events changes them. Any thread can read them.
struct LoadCounts: ~Copyable, Sendable {
    private let receivedBytes = Atomic<Int64>(0)
    private let expected = Atomic<Int64>(-1)
    private let sentBytes = Atomic<Int64>(0)
    private let expectedToSend = Atomic<Int64>(-1)
    private let writtenBytes = Atomic<Int64>(0)
    private let expectedToWrite = Atomic<Int64>(-1)

    func beginBody(expected length: Int64?) {
        receivedBytes.store(0, ordering: .relaxed)
        expected.store(length ?? -1, ordering: .relaxed)
    }

    /// - Returns: the number of bytes from the start of the body.
    func recordReceived(_ count: Int) -> Int64 {
        let total = receivedBytes.load(ordering: .relaxed) + Int64(count)
        receivedBytes.store(total, ordering: .relaxed)
        return total
    }

    func recordSent(total: Int64, expected: Int64?) {
        sentBytes.store(total, ordering: .relaxed)
        expectedToSend.store(expected ?? -1, ordering: .relaxed)
    }

    func recordWritten(_ total: Int64, expected: Int64?) {
        writtenBytes.store(total, ordering: .relaxed)
        expectedToWrite.store(expected ?? -1, ordering: .relaxed)
    }

    var progress: LoadProgress {
        func nilIfUnknown(_ count: Int64) -> Int64? { count < 0 ? nil : count }
        return LoadProgress(
            bytesReceived: receivedBytes.load(ordering: .relaxed), expectedBytesToReceive: nilIfUnknown(expected.load(ordering: .relaxed)),
            bytesSent: sentBytes.load(ordering: .relaxed), expectedBytesToSend: nilIfUnknown(expectedToSend.load(ordering: .relaxed)),
            bytesWritten: writtenBytes.load(ordering: .relaxed),
            expectedBytesToWrite: nilIfUnknown(expectedToWrite.load(ordering: .relaxed)))
    }
}
