// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// Measures the cost of a run as the difference of a value before and after it.
enum Sampler: Sendable {
    /// The processor time of all threads of this process, in user space and in the kernel, in nanoseconds. Other
    /// programs on the machine increase the wall time, but hardly this time.
    case process
    /// The processor time of child processes that have ended and were waited for, in nanoseconds.
    case children
    /// Values that child processes measured and printed.
    case reports(Reports)

    /// Sums the reported values.
    final class Reports: Sendable {
        private let sum = Atomic<Int>(0)

        func add(_ value: Int) { sum.add(value, ordering: .relaxed) }

        fileprivate var value: Double { Double(sum.load(ordering: .relaxed)) }
    }

    /// The current value, relative to an arbitrary start.
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
        case .reports(let reports): return reports.value
        }
    }

    private static func nanoseconds(_ time: timeval) -> Double {
        Double(time.tv_sec) * 1e9 + Double(time.tv_usec) * 1e3
    }
}
