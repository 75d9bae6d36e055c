// SPDX-License-Identifier: Apache-2.0

import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The threads on which loads may block: as many as are needed up to a limit, kept for a while when idle.
///
/// A load that another load opened never waits for a thread, or outer loads that hold all threads would wait for inner ones that get none.
/// For the same reason a job that waits for another load (``Loader/waitForData(for:delegate:)``, in a delegate that a load of this pool
/// calls) does not count towards the limit while it waits; up to ``mostWaiting`` jobs may do so at once.
public final class LoadThreads: Sendable {
    public typealias Job = @Sendable () -> Void

    private enum Placement {
        case waits, handedOver, needsThread
    }

    private struct State {
        /// Jobs that wait for a place within the limit.
        var waiting: [Job?] = []
        var firstWaiting = 0
        /// Jobs for threads that were idle when the job came.
        var handedOver: [(job: Job, isNested: Bool)] = []
        /// Idle threads that no job was handed to.
        var idle = 0
        /// Running jobs within the limit.
        var running = 0
        /// Threads that were started and have not ended.
        var threads = 0
        /// Jobs within the limit that wait for another load, and gave up their places for that time.
        var aside = 0
        /// How many jobs have begun.
        var begun: UInt64 = 0

        var hasWaiting: Bool { firstWaiting < waiting.count }

        mutating func place(_ job: @escaping Job, isNested: Bool, limit: Int) -> Placement {
            if !isNested {
                guard running < limit else {
                    waiting.append(job)
                    return .waits
                }
                running += 1
            }
            guard idle > 0 else {
                threads += 1
                return .needsThread
            }
            idle -= 1
            handedOver.append((job, isNested))
            return .handedOver
        }

        mutating func nextWaiting() -> Job? {
            guard firstWaiting < waiting.count else { return nil }
            let job = waiting[firstWaiting].take()
            firstWaiting += 1
            if firstWaiting > 64, firstWaiting * 2 > waiting.count {
                waiting.removeFirst(firstWaiting)
                firstWaiting = 0
            }
            return job
        }
    }

    /// For every loader that names no other.
    public static let shared = LoadThreads(limit: 64)

    /// How many jobs run at once, not counting nested ones.
    package let limit: Int
    private let idleTime: Duration
    private let monitor = Monitor(State())

    /// How many jobs of one pool may wait for other loads at once, beyond the limit.
    package static let mostWaiting = 512

    /// - Parameters:
    ///   - limit: how many jobs run at once, not counting nested ones.
    ///   - idleTime: how long a thread without a job is kept.
    public init(limit: Int, idleTime: Duration = .seconds(10)) {
        self.limit = max(1, limit)
        self.idleTime = idleTime
    }

    private static let idleOfAll = Atomic(0)
    /// How many threads of all pools of this process wait for a job.
    package static var idleCount: Int { idleOfAll.load(ordering: .relaxed) }

    /// How many threads there are now, and how many of them have nothing to do.
    package var census: (threads: Int, idle: Int) { monitor.withLock { ($0.threads, $0.idle) } }

    /// Whether a job waits because as many run as may. Then those are what it waits for.
    package var isExhausted: Bool { monitor.withLock { $0.running >= limit && $0.hasWaiting } }

    /// Runs `job` on a thread that may block.
    ///
    /// - Parameters:
    ///   - isNested: the job belongs to a load inside another one: it runs at once, beyond the limit if need be.
    ///   - job: called once.
    /// - Throws: ``LoadError/Code/noResources`` if no thread can be had; the job will not run.
    public func run(isNested: Bool = false, _ job: @escaping Job) throws(LoadError) {
        switch monitor.withLock({ $0.place(job, isNested: isNested, limit: limit) }) {
        case .waits: return
        case .handedOver: return monitor.wakeOne()
        case .needsThread: break
        }
        do throws(LoadError) {
            let first = Handover(job)
            try PlatformThread.start { [self] in work(first, isNested: isNested) }
        } catch {
            monitor.withLock { $0.threads -= 1 }
            guard !isNested else { throw error }
            // A job that waited meanwhile must not be left behind: the running ones take it up, unless there are none.
            let orphans = monitor.withLock { state -> [Job] in
                state.running -= 1
                guard state.running == 0 else { return [] }
                var orphans: [Job] = []
                while let job = state.nextWaiting() { orphans.append(job) }
                return orphans
            }
            for orphan in orphans { runOrKeep(orphan) }
            throw error
        }
    }

    /// Of each thread, for those who look at them from outside (`proc(5)`, /proc/thread-self/comm; 15 bytes at most).
    package static let threadName = "portolan-load"

    /// pthread_setname_np(3) does the same, and is not there for Swift.
    private static func nameThread() {
        let file = unsafe open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = unsafe write(file, threadName, threadName.utf8.count)
        close(file)
    }

    private func work(_ first: Handover, isNested: Bool) {
        Self.nameThread()
        let worker = LoadWorker(of: self)
        worker.becomeCurrent()
        var current = first.take().map { (job: $0, isNested: isNested) }
        while current != nil { current = next(after: current.take(), worker) }
        withExtendedLifetime(worker) {}
    }

    /// Runs a job and lets go of it, and with it of the load it belongs to, before it waits for another.
    private func next(after entry: consuming (job: Job, isNested: Bool)?, _ worker: LoadWorker) -> (job: Job, isNested: Bool)? {
        guard let isNested = entry?.isNested else { return nil }
        monitor.withLock { $0.begun &+= 1 }
        worker.hasPlace = !isNested
        entry?.job()
        entry = nil
        return (isNested ? nil : nextInPlace()) ?? nextHandedOver()
    }

    /// Gives up a place within the limit, or goes on with a job that waits for one.
    private func nextInPlace() -> (Job, Bool)? {
        monitor.withLock { state in
            // More may run than the limit says where some have returned from waiting for another load.
            if state.running <= limit, let job = state.nextWaiting() { return (job, false) }
            state.running -= 1
            return nil
        }
    }

    // MARK: Beyond the limit

    /// Has other jobs run in the place of the calling one, which is about to wait for another load.
    ///
    /// - Throws: ``LoadError/Code/noResources`` where too many wait already.
    func leavePlace() throws(LoadError) {
        let (isLeft, next) = monitor.withLock { state -> (Bool, Job?) in
            guard state.aside < Self.mostWaiting else { return (false, nil) }
            state.aside += 1
            state.running -= 1
            return (true, state.running < limit ? state.nextWaiting() : nil)
        }
        guard isLeft else {
            throw LoadError(
                .noResources,
                message: "\(Self.mostWaiting) calls of loads wait for other loads already; wait for fewer at once, or await them")
        }
        if let next { runOrKeep(next) }
    }

    /// The calling job waits no more: it goes on, though others have its place.
    func takePlaceAgain() {
        monitor.withLock { state in
            state.aside -= 1
            state.running += 1
        }
    }

    private func runOrKeep(_ job: @escaping Job) {
        // One that finds no thread waits on, for the next job that ends.
        do throws(LoadError) { try run(job) } catch { monitor.withLock { $0.waiting.append(job) } }
    }

    /// How many jobs have begun so far.
    package var begunCount: UInt64 { monitor.withLock { $0.begun } }

    /// Runs jobs that wait for a place, `count` at most, without one. Those for which there is no thread wait on.
    package func runWaiting(atMost count: Int) {
        for _ in 0..<count {
            guard let job = monitor.withLock({ $0.nextWaiting() }) else { return }
            do throws(LoadError) {
                try run(isNested: true, job)
            } catch {
                return monitor.withLock { $0.waiting.append(job) }
            }
        }
    }

    private func nextHandedOver() -> (Job, Bool)? {
        monitor.withLock { $0.idle += 1 }
        Self.idleOfAll.add(1, ordering: .relaxed)
        let handed = monitor.wait(atMost: idleTime) { state in state.handedOver.popLast() }
        Self.idleOfAll.subtract(1, ordering: .relaxed)
        return handed
            ?? monitor.withLock { state in
                // A job may have been handed over since; then this thread is no longer counted as idle.
                if let handed = state.handedOver.popLast() { return handed }
                state.idle -= 1
                state.threads -= 1
                return nil
            }
    }

    /// The first job of a thread, on its way to it: what the thread is started with lives as long as the thread, and the job must not.
    private final class Handover: Sendable {
        private let job: Mutex<Job?>

        init(_ job: @escaping Job) { self.job = Mutex(job) }

        func take() -> Job? { job.withLock { $0.take() } }
    }
}
