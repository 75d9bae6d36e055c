// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A file descriptor that is closed exactly once: by `close()` or by `deinit`.
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
