// SPDX-License-Identifier: Apache-2.0

import Glibc
import Synchronization

/// What a run costs: how far the gauge moves while it lasts.
enum Sampler: Sendable {
    /// Processor time of this process with all of its threads, in user space and in the kernel, in nanoseconds. Other programs on the machine
    /// cost wall time, and hardly any of this.
    case process
    /// Processor time of the children that ended and were waited for, in nanoseconds.
    case children
    /// What started processes said about themselves.
    case reports(Reports)

    /// Adds up what is reported.
    final class Reports: Sendable {
        private let sum = Atomic<Int>(0)

        func add(_ value: Int) { sum.add(value, ordering: .relaxed) }

        fileprivate var value: Double { Double(sum.load(ordering: .relaxed)) }
    }

    /// Since some moment on.
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
