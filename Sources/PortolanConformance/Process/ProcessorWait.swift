// SPDX-License-Identifier: Apache-2.0

import Glibc

/// The time that runnable threads waited for a processor.
enum ProcessorWait {
    /// How long the calling thread has waited since its start; zero if the kernel does not count that.
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
