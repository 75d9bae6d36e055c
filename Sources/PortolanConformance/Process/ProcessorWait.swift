// SPDX-License-Identifier: Apache-2.0

import Glibc
import PortolanCore

/// The time that runnable threads waited for a processor.
///
/// Source: the second number of `/proc/*/schedstat` (Linux, Documentation/scheduler/sched-stats).
struct ProcessorWait {
    /// How long each thread of this process has waited since its start.
    private let times: [Int32: Duration]
    private let snapshotTime = MonotonicTime.now
    private let processorTime = ProcessResources.processorTime()

    private init(_ times: [Int32: Duration]) { self.times = times }

    /// How long the calling thread has waited since its start; zero if the kernel does not count that.
    static var ofThisThread: Duration { time(in: "/proc/thread-self/schedstat") }

    static var ofAllThreads: Self {
        let threads = ProcessResources.threads()
        return Self(Dictionary(uniqueKeysWithValues: threads.map { ($0, time(in: "/proc/self/task/\($0)/schedstat")) }))
    }

    /// The longest time for which one thread has waited for other processes since `earlier`. Threads that use a whole
    /// processor and wait for each other are no reason to wait longer.
    func longest(since earlier: Self) -> Duration {
        let longestWait = times.map { thread, time in time - (earlier.times[thread] ?? .zero) }.max() ?? .zero
        let unusedTime = snapshotTime - earlier.snapshotTime - (processorTime - earlier.processorTime)
        return max(.zero, min(longestWait, unusedTime))
    }

    private static func time(in path: String) -> Duration {
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return .zero }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = unsafe read(file, &bytes, bytes.count)
        let numbers = bytes.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
        guard numbers.count > 1, let wait = Int64(String(decoding: numbers[1], as: UTF8.self)) else { return .zero }
        return .nanoseconds(wait)
    }
}

extension ConditionLock {
    /// Does the same as `wait(atMost:for:)`, but waits longer on a busy machine: by the time for which a thread of this
    /// process waited for a processor. So a slow machine is not taken for a slow plugin.
    func waitForProcessorTime<Result>(atMost limit: Duration, for body: (inout State) -> Result?) -> Result? {
        // Nearly all waits end at once, so that nothing is counted for them.
        if let result = wait(atMost: limit / 4, for: body) { return result }
        var remainingTime = limit * 3 / 4
        // A thread that uses all of its processor time makes each further wait shorter than the one before.
        for _ in 0..<20 where remainingTime > limit / 20 {
            let before = ProcessorWait.ofAllThreads
            if let result = wait(atMost: remainingTime, for: body) { return result }
            remainingTime = min(remainingTime, ProcessorWait.ofAllThreads.longest(since: before))
        }
        return wait(atMost: .zero, for: body)
    }
}
