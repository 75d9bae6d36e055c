// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The threads on which loads may block: as many as needed, up to a limit. Idle threads remain for a while.
///
/// A load that another load opened never waits for a thread. Otherwise outer loads that occupy all threads would wait
/// for inner loads that get none. For the same reason, a job that waits for another load
/// (``Loader/waitForData(for:delegate:)``, in a delegate that a load of this pool calls) does not count towards the
/// limit while it waits. Up to 512 jobs may do so at once.
public final class LoadThreadPool: Sendable {
    public typealias Job = @Sendable () -> Void

    /// A job in a queue. A class, because a closure is wrapped once more each time it is put into a list and taken out
    /// again.
    private final class QueuedJob: Sendable {
        let run: Job

        init(_ run: @escaping Job) { self.run = run }
    }

    /// A job for a thread, and whether the job has a place within the limit.
    private struct ThreadJob {
        let job: QueuedJob
        let hasPlace: Bool
    }

    private enum Placement {
        case waits, handedOver
        case needsThread(ThreadJob)
    }

    private struct State {
        /// Jobs that wait for a place within the limit, or have one and wait for a thread.
        var waiting: [QueuedJob?] = []
        var firstWaiting = 0
        /// Jobs that need no place, and wait because there was no thread.
        var nested: [QueuedJob] = []
        /// Whether a timer is set that tries again to start a thread.
        var willRetry = false
        /// Jobs for threads that were idle when the job came.
        var handedOver: [ThreadJob] = []
        /// Idle threads to which no job was handed.
        var idle = 0
        /// Running jobs within the limit.
        var running = 0
        /// Threads that were started and have not ended.
        var threads = 0
        /// Jobs within the limit that wait for another load, and have given up their places meanwhile.
        var aside = 0
        /// How many jobs have begun.
        var begun: UInt64 = 0

        var hasWaiting: Bool { firstWaiting < waiting.count }

        mutating func place(_ job: QueuedJob, isNested: Bool, limit: Int) -> Placement {
            guard isNested || running < limit else {
                waiting.append(job)
                return .waits
            }
            return give(ThreadJob(job: job, hasPlace: !isNested))
        }

        /// Hands `turn` to an idle thread, or counts the thread that must be started for it.
        mutating func give(_ turn: ThreadJob) -> Placement {
            if turn.hasPlace { running += 1 }
            guard idle > 0 else {
                threads += 1
                return .needsThread(turn)
            }
            idle -= 1
            handedOver.append(turn)
            return .handedOver
        }

        /// Reverts ``give(_:)`` because no thread could be started for `turn`.
        mutating func takeBack(_ turn: ThreadJob) {
            threads -= 1
            if turn.hasPlace { running -= 1 }
        }

        /// Puts `turn`, which was taken from the waiting jobs, back as the first of them.
        mutating func keep(_ turn: ThreadJob, isNested: Bool) {
            if isNested {
                nested.append(turn.job)
            } else if firstWaiting > 0 {
                firstWaiting -= 1
                waiting[firstWaiting] = turn.job
            } else {
                waiting.insert(turn.job, at: 0)
            }
        }

        mutating func nextWaiting() -> QueuedJob? {
            guard firstWaiting < waiting.count else { return nil }
            let job = waiting[firstWaiting].take()
            firstWaiting += 1
            if firstWaiting > 64, firstWaiting * 2 > waiting.count {
                waiting.removeFirst(firstWaiting)
                firstWaiting = 0
            }
            return job
        }

        /// Returns a job that can run now: one that needs no place, or a waiting one if a place is free.
        mutating func nextRunnable(limit: Int) -> (job: QueuedJob, isNested: Bool)? {
            if let job = nested.popLast() { return (job, true) }
            guard running < limit, let job = nextWaiting() else { return nil }
            return (job, false)
        }

        func hasRunnable(limit: Int) -> Bool { !nested.isEmpty || running < limit && hasWaiting }
    }

    /// The pool of every loader that uses no other one.
    public static let shared = LoadThreadPool(limit: 64)

    /// How many jobs run at once, not counting nested ones.
    package let limit: Int
    private let idleTime: Duration
    private let monitor = ConditionLock(State())
    /// `nil` for the system's clock, which has a pool itself.
    private let clock: (any LoadClock)?
    private let startThread: Starter

    /// Starts a thread, as ``PlatformThread/start(stackSize:_:)`` does.
    package typealias Starter = @Sendable (@escaping @Sendable () -> Void) throws(LoadError) -> Void

    /// How many jobs of one pool may wait for other loads at once, beyond the limit.
    package static let mostWaiting = 512

    /// - Parameters:
    ///   - limit: how many jobs run at once, not counting nested ones.
    ///   - idleTime: how long a thread without a job remains.
    public convenience init(limit: Int, idleTime: Duration = .seconds(10)) {
        self.init(limit: limit, idleTime: idleTime, clock: nil) { body throws(LoadError) in try PlatformThread.start(body) }
    }

    /// For tests, which decide when no thread is available.
    package init(limit: Int, idleTime: Duration = .seconds(10), clock: (any LoadClock)?, startThread: @escaping Starter) {
        self.limit = max(1, limit)
        self.idleTime = idleTime
        self.clock = clock
        self.startThread = startThread
    }

    private static let idleOfAll = Atomic(0)
    /// The number of threads in all pools of this process that wait for a job.
    package static var idleCount: Int { idleOfAll.load(ordering: .relaxed) }

    /// The number of threads, and how many of them are idle.
    package var census: (threads: Int, idle: Int) { monitor.withLock { ($0.threads, $0.idle) } }

    /// Whether a job waits because the maximum number of jobs run. It then waits for one of those to end.
    package var isExhausted: Bool { monitor.withLock { $0.running >= limit && $0.hasWaiting } }

    /// Whether a job waits, for a place or for a thread.
    package var hasWaiting: Bool { monitor.withLock { $0.hasWaiting || !$0.nested.isEmpty } }

    /// Runs `job` on a thread that may block.
    ///
    /// - Parameters:
    ///   - isNested: whether the job belongs to a nested load. Such a job runs immediately, beyond the limit if
    ///     necessary.
    ///   - job: called once.
    /// - Throws: ``LoadError/Code/noResources`` if no thread is available; the job will not run.
    public func run(isNested: Bool = false, _ job: @escaping Job) throws(LoadError) {
        let job = QueuedJob(job)
        switch monitor.withLock({ $0.place(job, isNested: isNested, limit: limit) }) {
        case .waits: break
        case .handedOver: monitor.wakeOne()
        case .needsThread(let turn):
            do throws(LoadError) {
                try start(turn)
            } catch {
                monitor.withLock { $0.takeBack(turn) }
                // Jobs that came meanwhile and wait for this job's place must not be left behind.
                retryLater()
                throw error
            }
        }
    }

    /// Does what ``run(isNested:_:)`` does. If no thread is available, the job waits until there is one.
    package func runEventually(isNested: Bool = false, _ job: @escaping Job) {
        let job = QueuedJob(job)
        let placement = monitor.withLock { state -> Placement in
            guard state.willRetry, state.idle == 0 else { return state.place(job, isNested: isNested, limit: limit) }
            // No thread was available a moment ago. The retry serves all waiting jobs.
            if isNested { state.nested.append(job) } else { state.waiting.append(job) }
            return .waits
        }
        switch placement {
        case .waits: break
        case .handedOver: monitor.wakeOne()
        case .needsThread(let turn): startOrKeep(turn, isNested: isNested)
        }
    }

    private func start(_ turn: ThreadJob) throws(LoadError) {
        let first = Handover(turn)
        try startThread { [self] in work(first) }
    }

    /// - Returns: whether a thread was started.
    @discardableResult
    private func startOrKeep(_ turn: ThreadJob, isNested: Bool) -> Bool {
        do throws(LoadError) {
            try start(turn)
            return true
        } catch {
            monitor.withLock { state in
                state.takeBack(turn)
                state.keep(turn, isNested: isNested)
            }
            retryLater()
            return false
        }
    }

    // MARK: If no thread is available

    private static let retryTime = Duration.milliseconds(50)

    /// Schedules a retry if jobs wait that could run. The next thread that ends a job takes them up, or else a thread
    /// that can be started later.
    private func retryLater() {
        let isToSet = monitor.withLock { state in
            guard !state.willRetry, state.hasRunnable(limit: limit) else { return false }
            state.willRetry = true
            return true
        }
        guard isToSet else { return }
        let clock = clock ?? SystemClock.shared
        clock.schedule(ScheduledTimer { [self] in retry() }, at: clock.now + Self.retryTime)
    }

    private func retry() {
        monitor.withLock { $0.willRetry = false }
        takeUpWaiting()
    }

    /// Runs the waiting jobs that can run now, until no thread is available for one.
    private func takeUpWaiting() {
        while true {
            let next = monitor.withLock { state -> (placement: Placement, isNested: Bool)? in
                guard let (job, isNested) = state.nextRunnable(limit: limit) else { return nil }
                return (state.give(ThreadJob(job: job, hasPlace: !isNested)), isNested)
            }
            switch next?.placement {
            case nil, .waits: return
            case .handedOver: monitor.wakeOne()
            case .needsThread(let turn): guard startOrKeep(turn, isNested: next?.isNested ?? false) else { return }
            }
        }
    }

    // MARK: On a thread

    /// The name of each thread, for tools that list threads (`proc(5)`, /proc/thread-self/comm; at most 15 bytes).
    package static let threadName = "portolan-load"

    // Not through /proc/thread-self/comm, because the kernel's entry for that file would cost a thread more than its
    // start.
    private static func nameThread() {
        _ = unsafe pthread_setname_np(pthread_self(), threadName)
    }

    private func work(_ first: Handover) {
        Self.nameThread()
        let worker = LoadWorker(of: self)
        worker.becomeCurrent()
        var current = first.take()
        while current != nil { current = next(after: current.take(), worker) }
        withExtendedLifetime(worker) {}
    }

    /// Runs a job and releases it, and with it the job's load, before it waits for another job.
    private func next(after turn: consuming ThreadJob?, _ worker: LoadWorker) -> ThreadJob? {
        guard let hasPlace = turn?.hasPlace else { return nil }
        monitor.withLock { $0.begun &+= 1 }
        worker.hasPlace = hasPlace
        turn?.job.run()
        turn = nil
        return nextWaiting(inPlace: hasPlace) ?? nextHandedOver()
    }

    /// Continues with a waiting job in the place of the last one, or gives that place up.
    private func nextWaiting(inPlace hasPlace: Bool) -> ThreadJob? {
        monitor.withLock { state in
            // More jobs may run than the limit allows, if some have returned from waiting for another load.
            if hasPlace { state.running -= 1 }
            guard let (job, isNested) = state.nextRunnable(limit: limit) else { return nil }
            if !isNested { state.running += 1 }
            return ThreadJob(job: job, hasPlace: !isNested)
        }
    }

    // MARK: Beyond the limit

    /// Lets other jobs run in the place of the calling job, which is about to wait for another load.
    ///
    /// - Throws: ``LoadError/Code/noResources`` if too many jobs already wait.
    func leavePlace() throws(LoadError) {
        let (isLeft, isWaitedFor) = monitor.withLock { state -> (Bool, Bool) in
            guard state.aside < Self.mostWaiting else { return (false, false) }
            state.aside += 1
            state.running -= 1
            return (true, !state.willRetry && state.hasRunnable(limit: limit))
        }
        guard isLeft else {
            throw LoadError(
                .noResources,
                message: "\(Self.mostWaiting) calls of loads already wait for other loads; wait for fewer loads at once, or use await")
        }
        if isWaitedFor { takeUpWaiting() }
    }

    /// The calling job no longer waits. It continues even if other jobs have its place.
    func takePlaceAgain() {
        monitor.withLock { state in
            state.aside -= 1
            state.running += 1
        }
    }

    /// How many jobs have begun so far.
    package var begunCount: UInt64 { monitor.withLock { $0.begun } }

    /// Runs at most `count` jobs that wait for a place, without giving them one. Jobs for which no thread is available
    /// continue to wait.
    package func runWaiting(atMost count: Int) {
        for _ in 0..<count {
            let placement = monitor.withLock { state in
                state.nextWaiting().map { state.give(ThreadJob(job: $0, hasPlace: false)) }
            }
            switch placement {
            case nil, .waits: return
            case .handedOver: monitor.wakeOne()
            case .needsThread(let turn): guard startOrKeep(turn, isNested: false) else { return }
            }
        }
    }

    private func nextHandedOver() -> ThreadJob? {
        monitor.withLock { $0.idle += 1 }
        Self.idleOfAll.add(1, ordering: .relaxed)
        let handed = monitor.wait(atMost: idleTime) { state in state.handedOver.popLast() }
        Self.idleOfAll.subtract(1, ordering: .relaxed)
        return handed
            ?? monitor.withLock { state in
                // A job may have been handed over meanwhile. This thread is then no longer counted as idle.
                if let handed = state.handedOver.popLast() { return handed }
                state.idle -= 1
                state.threads -= 1
                return nil
            }
    }

    /// Takes the first job to a new thread. The closure that starts a thread lives as long as the thread, and the job
    /// must not.
    private final class Handover: Sendable {
        private let turn: Mutex<ThreadJob?>

        init(_ turn: ThreadJob) { self.turn = Mutex(turn) }

        func take() -> ThreadJob? { turn.withLock { $0.take() } }
    }
}
