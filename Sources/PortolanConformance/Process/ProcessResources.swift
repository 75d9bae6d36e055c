// SPDX-License-Identifier: Apache-2.0

import CPluginObservation
import FoundationEssentials
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A snapshot of the process's resources, so that two snapshots can be compared.
struct ProcessResources: Sendable {
    /// The target of each open descriptor (`proc(5)`, /proc/self/fd).
    var descriptors: [Int32: String]
    /// The kernel's identifier of each thread.
    var threads: Set<Int32>
    /// The number of these threads that wait for a job in the host's thread pools, for blocking loads and for timers.
    var idleThreadsOfHost: Int
    /// The timers of `timer_create(2)`, by their line in /proc/self/timers.
    var timers: [String]
    var environment: ProcessEnvironment

    static func snapshot() -> Self {
        Self(
            descriptors: Self.descriptors(), threads: Self.threads(), idleThreadsOfHost: LoadThreadPool.idleCount, timers: Self.timers(),
            environment: .current())
    }

    static func threads() -> Set<Int32> {
        Set(names(in: "/proc/self/task").compactMap { Int32($0) })
    }

    /// The threads, without those of the host's thread pools for blocking loads and for timers.
    static func threadsOfPlugins() -> Set<Int32> {
        threads().filter { name(ofThread: $0) != LoadThreadPool.threadName }
    }

    /// The number of threads of the host's thread pools that run a job, for example a call of a bound C library.
    static var busyThreadsOfHost: Int {
        max(0, threads().count { name(ofThread: $0) == LoadThreadPool.threadName } - LoadThreadPool.idleCount)
    }

    private static func name(ofThread number: Int32) -> String? {
        // `try?` because a thread that has ended has no name.
        (try? String(contentsOfFile: "/proc/self/task/\(number)/comm", encoding: .utf8)).map { String($0.prefix { $0 != "\n" }) }
    }

    static func descriptors() -> [Int32: String] {
        var descriptorTargets: [Int32: String] = [:]
        for number in names(in: "/proc/self/fd").compactMap({ Int32($0) }) {
            if let target = link("/proc/self/fd/\(number)") { descriptorTargets[number] = target }
        }
        // The descriptor through which the list was read is closed by now, but its entry can still be in the list.
        return descriptorTargets.filter { fcntl($0.key, F_GETFD) >= 0 }
    }

    /// The children of this process, at most 1024. Further children are returned when these have ended.
    static func children() -> [pid_t] {
        var list = [pid_t](repeating: 0, count: 1024)
        let count = unsafe portolan_children(&list, Int32(list.count))
        return Array(list.prefix(Int(count)))
    }

    /// The processor time that the whole process has used.
    static func processorTime() -> Duration {
        var time = timespec()
        guard unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return .zero }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// The processor time that the process uses in 200 ms, after 50 ms to become idle. Returns the largest of up to
    /// five measurements.
    static func processorTimeAtRest() -> Duration {
        Polling.sleep(.milliseconds(50))
        var largestTime = Duration.zero
        // If this thread had to wait for a processor, other threads had to wait as well. Another measurement then shows
        // the time that they need.
        for _ in 0..<5 {
            let (before, waitTimeBefore) = (processorTime(), ProcessorWait.ofThisThread)
            Polling.sleep(.milliseconds(200))
            largestTime = max(largestTime, processorTime() - before)
            if ProcessorWait.ofThisThread - waitTimeBefore < .milliseconds(1) { break }
        }
        return largestTime
    }

    /// Calls `round` twice, and returns the resources that the second call left behind. If there are any, calls `round`
    /// `furtherRounds` times more, and returns what the call after that left behind, because a pool that grows only in
    /// the first rounds is no leak.
    static func leftBehind(within limit: Duration, after furtherRounds: Int = 3, _ round: () throws(CheckSkipped) -> Void)
        throws(CheckSkipped)
        -> [String]
    {
        try round()
        for (rounds, limit) in [(0, limit), (furtherRounds, min(limit, .seconds(1)))] {
            for _ in 0..<rounds { try round() }
            let before = snapshot()
            try round()
            let remainingResources = settledAdditions(since: before, within: limit)
            if remainingResources.isEmpty || rounds > 0 { return remainingResources }
        }
        return []
    }

    /// The size of the resident memory that no file on a disk backs, in bytes: private memory, shared memory and memory
    /// files.
    static func residentBytes() -> Int { bytes(of: ["RssAnon", "RssShmem"]) }

    /// The number of heap bytes in use (`mallinfo2(3)`). Returns the smallest of three counts, because other threads
    /// may still release memory.
    static func settledHeapBytes() -> Int {
        var smallestCount = Int.max
        for _ in 0..<3 {
            Polling.sleep(.milliseconds(2))
            smallestCount = min(smallestCount, Int(clamping: portolan_heap_bytes()))
        }
        return smallestCount
    }

    /// The largest address space that the process has had, in bytes.
    private static func peakBytes() -> Int { bytes(of: ["VmPeak"]) }

    /// How far `action` raised the address space above its size before, in bytes; 0 if not above an earlier peak.
    static func peakGrowth<Failure: Error>(of action: () throws(Failure) -> Void) throws(Failure) -> Int {
        let (peak, size) = (peakBytes(), bytes(of: ["VmSize"]))
        try action()
        let newPeak = peakBytes()
        return newPeak > peak ? newPeak - size : 0
    }

    /// The sum of these fields of `proc_pid_status(5)`, in bytes.
    private static func bytes(of fields: Set<Substring>) -> Int {
        // `try?` because without the file there is nothing to compare.
        let lines = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n") ?? []
        return lines.filter { fields.contains($0.prefix { $0 != ":" }) }.reduce(0) { $0 + (Int($1.filter(\.isNumber)) ?? 0) << 10 }
    }

    private static func timers() -> [String] {
        guard let file = unsafe fopen("/proc/self/timers", "re") else { return [] }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 256)
        var lines: [String] = []
        while unsafe fgets(&line, 256, file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("ID:") { lines.append(text) }
        }
        return lines
    }

    private static func names(in folder: String) -> [String] {
        // `try?` because a list that cannot be read is empty in both snapshots.
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    private static func link(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 512)
        let count = unsafe readlink(path, &buffer, 511)
        return count < 0 ? nil : String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension ProcessResources {
    /// The new resources; one line each.
    func additions(since before: Self) -> [String] {
        let openedDescriptors = descriptors.keys.filter { before.descriptors[$0] == nil }.sorted()
        let newThreads = threads.subtracting(before.threads)
        let newPoolThreads = newThreads.filter { LoadThreadPool.threadName == Self.name(ofThread: $0) }
        let startedThreadCount = newThreads.count - min(newPoolThreads.count, max(0, idleThreadsOfHost - before.idleThreadsOfHost))
        let newTimerCount = timers.count - before.timers.count
        return openedDescriptors.map { "descriptor \($0) (\(descriptors[$0] ?? "?")) was left open" }
            + (startedThreadCount > 0 ? ["\(startedThreadCount) thread\(startedThreadCount == 1 ? " was" : "s were") left running"] : [])
            + (newTimerCount > 0 ? ["\(newTimerCount) timer\(newTimerCount == 1 ? " was" : "s were") left"] : [])
    }

    /// The descriptors that are gone and did not belong to the plugin; one line each.
    func closedDescriptors(since before: Self) -> [String] {
        before.descriptors.keys.filter { descriptors[$0] == nil }.sorted().map {
            "descriptor \($0) (\(before.descriptors[$0] ?? "?")) was closed, but belongs to other code"
        }
    }

    /// Waits until no new resources remain, because a thread takes a moment to end.
    static func settledAdditions(since before: Self, within limit: Duration) -> [String] {
        Polling.result(within: limit) {
            let additions = snapshot().additions(since: before)
            return additions.isEmpty ? .done(additions) : .notYet(additions)
        }
    }
}
