// SPDX-License-Identifier: Apache-2.0

import Glibc

/// How long threads that could have run had to wait for a processor.
enum ProcessorWait {
    /// Of the calling thread, since it began; none where the kernel does not count it.
    ///
    /// Source: the second number of `/proc/thread-self/schedstat` (Linux, Documentation/scheduler/sched-stats).
    static var ofThisThread: Duration {
        let file = unsafe open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return .zero }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = unsafe read(file, &bytes, bytes.count)
        let numbers = bytes.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
        guard numbers.count > 1, let wait = Int64(String(decoding: numbers[1], as: UTF8.self)) else { return .zero }
        return .nanoseconds(wait)
    }
}
