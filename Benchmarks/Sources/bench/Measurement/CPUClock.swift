// SPDX-License-Identifier: Apache-2.0

import Glibc

/// Whose processor time decides. Other programs on the machine cost wall time, and hardly any of this.
enum CPUClock: Sendable {
    /// This process with all of its threads, in user space and in the kernel.
    case process
    /// The children that ended and were waited for.
    case children

    /// In nanoseconds, from some moment on.
    var now: Double {
        switch self {
        case .process:
            var time = timespec()
            unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
        case .children:
            var usage = rusage()
            unsafe getrusage(RUSAGE_CHILDREN.rawValue, &usage)
            return Self.nanoseconds(usage.ru_utime) + Self.nanoseconds(usage.ru_stime)
        }
    }

    private static func nanoseconds(_ time: timeval) -> Double {
        Double(time.tv_sec) * 1e9 + Double(time.tv_usec) * 1e3
    }
}
