// SPDX-License-Identifier: Apache-2.0

import CThreadTrace
import FoundationEssentials
import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What belongs to the process and not to a plugin, counted, so that two counts can be compared.
struct ProcessResources: Sendable {
    /// What each open descriptor leads to (`proc(5)`, /proc/self/fd).
    var descriptors: [Int32: String]
    /// Identifiers of the kernel's for each thread.
    var threads: Set<Int32>
    /// Of these, how many are the host's own, kept for the next load that blocks.
    var idleThreadsOfHost: Int
    /// What `timer_create(2)` made, by its line in /proc/self/timers.
    var timers: [String]
    var surroundings: ProcessEnvironment

    static func taken() -> Self {
        Self(
            descriptors: Self.descriptors(), threads: Self.threads(), idleThreadsOfHost: LoadThreadPool.idleCount, timers: Self.timers(),
            surroundings: .taken())
    }

    static func threads() -> Set<Int32> {
        Set(names(in: "/proc/self/task").compactMap { Int32($0) })
    }

    /// Those that are not kept by the host for loads that block, and alarms.
    static func threadsOfPlugins() -> Set<Int32> {
        threads().filter { name(ofThread: $0) != LoadThreadPool.threadName }
    }

    private static func name(ofThread number: Int32) -> String? {
        // `try?` because a thread that is gone has no name.
        (try? String(contentsOfFile: "/proc/self/task/\(number)/comm", encoding: .utf8)).map { String($0.prefix { $0 != "\n" }) }
    }

    static func descriptors() -> [Int32: String] {
        var found: [Int32: String] = [:]
        for number in names(in: "/proc/self/fd").compactMap({ Int32($0) }) {
            if let target = link("/proc/self/fd/\(number)") { found[number] = target }
        }
        // The descriptor through which the list was read is closed by now, and its entry may be gone or not.
        return found.filter { fcntl($0.key, F_GETFD) >= 0 }
    }

    /// Of the whole process so far.
    static func processorTime() -> Duration {
        var time = timespec()
        guard unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return .zero }
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// How much processor time passes in 200 ms, once the process had a moment to come to rest.
    static func processorTimeAtRest() -> Duration {
        Polling.watch(.milliseconds(50))
        var most = Duration.zero
        // Where this thread waits for a processor, others wait as well: the time that they wanted shows in a longer look.
        for _ in 0..<5 {
            let (before, waited) = (processorTime(), ProcessorWait.ofThisThread)
            Polling.watch(.milliseconds(200))
            most = max(most, processorTime() - before)
            if ProcessorWait.ofThisThread - waited < .milliseconds(1) { break }
        }
        return most
    }

    /// What is left by `round` the second time, and once more `others` rounds later: a pool that grows when it is first used is no leak.
    static func leftBehind(within limit: Duration, after others: Int = 3, _ round: () throws(CheckSkipped) -> Void) throws(CheckSkipped)
        -> [String]
    {
        try round()
        for (rounds, limit) in [(0, limit), (others, min(limit, .seconds(1)))] {
            for _ in 0..<rounds { try round() }
            let before = taken()
            try round()
            let left = settledAdditions(since: before, within: limit)
            if left.isEmpty || rounds > 0 { return left }
        }
        return []
    }

    /// How much memory the process has that no file on a disk stands behind, in bytes: its own, and what it shares or keeps in memory files.
    static func residentBytes() -> Int { bytes(of: ["RssAnon", "RssShmem"]) }

    /// How many bytes of the heap are in use (`mallinfo2(3)`), once what just ended had a moment to be gone.
    static func settledHeapBytes() -> Int {
        var least = Int.max
        for _ in 0..<3 {
            Polling.watch(.milliseconds(2))
            least = min(least, Int(clamping: portolan_heap_bytes()))
        }
        return least
    }

    /// How much address space the process had at most, in bytes.
    static func peakBytes() -> Int { bytes(of: ["VmPeak"]) }

    /// The sum of these fields of `proc_pid_status(5)`.
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
        // `try?` because a list that can't be read is an empty one to both counts.
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    private static func link(_ path: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 512)
        let count = unsafe readlink(path, &buffer, 511)
        return count < 0 ? nil : String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension ProcessResources {
    /// What there is now and was not before: one line each.
    func additions(since before: Self) -> [String] {
        let opened = descriptors.keys.filter { before.descriptors[$0] == nil }.sorted()
        let new = threads.subtracting(before.threads)
        let ofPools = new.filter { LoadThreadPool.threadName == Self.name(ofThread: $0) }
        let started = new.count - min(ofPools.count, max(0, idleThreadsOfHost - before.idleThreadsOfHost))
        let set = timers.count - before.timers.count
        return opened.map { "descriptor \($0) (\(descriptors[$0] ?? "?")) was left open" }
            + (started > 0 ? ["\(started) thread\(started == 1 ? " was" : "s were") left running"] : [])
            + (set > 0 ? ["\(set) timer\(set == 1 ? " was" : "s were") left"] : [])
    }

    /// What was there before and is not any more: descriptors that belong to somebody else.
    func losses(since before: Self) -> [String] {
        before.descriptors.keys.filter { descriptors[$0] == nil }.sorted().map {
            "descriptor \($0) (\(before.descriptors[$0] ?? "?")) was closed, which is another's"
        }
    }

    /// Waits until nothing is left that was not there before, as a thread that ends takes a moment to be gone.
    static func settledAdditions(since before: Self, within limit: Duration) -> [String] {
        Polling.result(within: limit) {
            let additions = taken().additions(since: before)
            return additions.isEmpty ? .done(additions) : .notYet(additions)
        }
    }
}
