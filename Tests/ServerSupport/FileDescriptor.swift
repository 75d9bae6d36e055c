// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// An open descriptor. It is closed once, at the latest in `deinit`.
final class FileDescriptor: Sendable {
    let number: Int32
    private let isClosed = Atomic(false)

    init(_ number: Int32) {
        self.number = number
    }

    deinit { close() }

    func close() {
        if !isClosed.exchange(true, ordering: .relaxed) { SystemCalls.close(number) }
    }
}
