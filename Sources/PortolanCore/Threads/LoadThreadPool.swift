// SPDX-License-Identifier: Apache-2.0

import CPortolanLinux
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A pool of threads that loads may block. It starts threads when they are needed, up to a limit. Idle threads end
/// after some time.
///
/// A job of the pool needs a slot, and the limit is the number of slots. Jobs of nested loads need none. Otherwise
/// parent loads could occupy all slots and wait for nested loads that get none. For the same reason, a job that waits
/// for another load gives up its slot during the wait. This happens if a load of this pool calls a delegate that calls
/// ``Loader/waitForData(for:delegate:)``. At most 512 jobs can wait in this way at the same time.
public final class LoadThreadPool: Sendable {
    public typealias Job = @Sendable () -> Void

    /// A job in a queue. A class, because each insertion of a closure into an array, and each removal, wraps the
    /// closure once more.
    private final class QueuedJob: Sendable {
        let run: Job

        init(_ run: @escaping Job) { self.run = run }
    }

    /// A job for a thread, and whether the job has a slot.
    private struct ThreadJob {
        let job: QueuedJob
        let hasSlot: Bool
    }

    /// What happens to a job that was submitted.
    private enum Assignment {
        /// The job waits for a slot.
        case queued
        /// An idle thread must be woken for the job.
        case handedOver
        /// A thread must be started for the job.
        case needsThread(ThreadJob)
    }

    private struct State {
        /// Jobs that wait for a slot. If no thread can be started, also jobs that could have a slot.
        var waitingJobs: [QueuedJob?] = []
        var firstWaitingIndex = 0
        /// Jobs that need no slot, and wait because no thread could be started.
        var nestedJobs: [QueuedJob] = []
        /// Whether a timer is scheduled that tries again to start a thread.
        var willRetry = false
        /// Jobs for idle threads, which are being woken.
        var handedOverJobs: [ThreadJob] = []
        /// The number of idle threads for which there is no job in `handedOverJobs`.
        var idleThreadCount = 0
        /// The number of running jobs with a slot.
        var runningJobCount = 0
        /// The number of threads that were started and have not ended.
        var threadCount = 0
        /// The number of jobs that wait for another load and have given up their slots.
        var waitingForLoadCount = 0
        /// The number of jobs that have begun.
        var startedJobCount: UInt64 = 0

        var hasWaitingJobs: Bool { firstWaitingIndex < waitingJobs.count }

        mutating func assign(_ job: QueuedJob, isNested: Bool, limit: Int) -> Assignment {
            guard isNested || runningJobCount < limit else {
                waitingJobs.append(job)
                return .queued
            }
            return assignThread(to: ThreadJob(job: job, hasSlot: !isNested))
        }

        /// Assigns the job to an idle thread, or counts the thread that must be started for it.
        mutating func assignThread(to threadJob: ThreadJob) -> Assignment {
            if threadJob.hasSlot { runningJobCount += 1 }
            guard idleThreadCount > 0 else {
                threadCount += 1
                return .needsThread(threadJob)
            }
            idleThreadCount -= 1
            handedOverJobs.append(threadJob)
            return .handedOver
        }

        /// Reverts ``assignThread(to:)``, because no thread could be started for the job.
        mutating func revertAssignment(_ threadJob: ThreadJob) {
            threadCount -= 1
            if threadJob.hasSlot { runningJobCount -= 1 }
        }

        /// Puts a job back in front of the waiting jobs.
        mutating func requeue(_ threadJob: ThreadJob, isNested: Bool) {
            if isNested {
                nestedJobs.append(threadJob.job)
            } else if firstWaitingIndex > 0 {
                firstWaitingIndex -= 1
                waitingJobs[firstWaitingIndex] = threadJob.job
            } else {
                waitingJobs.insert(threadJob.job, at: 0)
            }
        }

        mutating func nextWaitingJob() -> QueuedJob? {
            guard firstWaitingIndex < waitingJobs.count else { return nil }
            let job = waitingJobs[firstWaitingIndex].take()
            firstWaitingIndex += 1
            if firstWaitingIndex > 64, firstWaitingIndex * 2 > waitingJobs.count {
                waitingJobs.removeFirst(firstWaitingIndex)
                firstWaitingIndex = 0
            }
            return job
        }

        /// Removes and returns a job that can run now: one that needs no slot, or, if a slot is free, the first waiting
        /// job.
        mutating func nextRunnableJob(limit: Int) -> (job: QueuedJob, isNested: Bool)? {
            if let job = nestedJobs.popLast() { return (job, true) }
            guard runningJobCount < limit, let job = nextWaitingJob() else { return nil }
            return (job, false)
        }

        func hasRunnableJob(limit: Int) -> Bool { !nestedJobs.isEmpty || runningJobCount < limit && hasWaitingJobs }
    }

    /// The pool that all loaders share.
    public static let shared = LoadThreadPool(limit: 64)

    /// The number of slots: the maximum number of running jobs that are not nested.
    package let limit: Int
    private let idleTime: Duration
    private let lock = ConditionLock(State())
    /// `nil` for ``SystemClock/shared``. That clock has a pool itself, so a pool must not need the clock when it is
    /// made.
    private let clock: (any LoadClock)?
    private let startThread: Starter

    /// Starts a thread, as ``PlatformThread/start(stackSize:_:)`` does.
    package typealias Starter = @Sendable (@escaping @Sendable () -> Void) throws(LoadError) -> Void

    /// The maximum number of jobs of a pool that wait for other loads without a slot.
    package static let maximumWaitingForLoads = 512

    /// - Parameters:
    ///   - limit: the maximum number of running jobs that are not nested.
    ///   - idleTime: the time after which a thread without a job ends.
    public convenience init(limit: Int, idleTime: Duration = .seconds(10)) {
        self.init(limit: limit, idleTime: idleTime, clock: nil) { body throws(LoadError) in try PlatformThread.start(body) }
    }

    /// For tests, which control whether a thread can be started.
    package init(limit: Int, idleTime: Duration = .seconds(10), clock: (any LoadClock)?, startThread: @escaping Starter) {
        self.limit = max(1, limit)
        self.idleTime = idleTime
        self.clock = clock
        self.startThread = startThread
    }

    private static let idleThreadCount = Atomic(0)
    /// The number of threads in all pools of this process that wait for a job.
    package static var idleCount: Int { idleThreadCount.load(ordering: .relaxed) }

    /// The number of threads, and the number of those that are idle.
    package var threadCounts: (total: Int, idle: Int) { lock.withLock { ($0.threadCount, $0.idleThreadCount) } }

    /// Whether a job waits for a slot, because the maximum number of jobs run.
    package var isExhausted: Bool { lock.withLock { $0.runningJobCount >= limit && $0.hasWaitingJobs } }

    /// Whether a job waits, for a slot or for a thread.
    package var hasWaitingJobs: Bool { lock.withLock { $0.hasWaitingJobs || !$0.nestedJobs.isEmpty } }

    /// Runs `job` on a thread that may block.
    ///
    /// - Parameters:
    ///   - isNested: whether the job belongs to a nested load. Such a job needs no slot and never waits for other jobs.
    ///   - job: called once.
    /// - Throws: ``LoadError/Code/noResources`` if no thread is available; the job will not run.
    public func run(isNested: Bool = false, _ job: @escaping Job) throws(LoadError) {
        let job = QueuedJob(job)
        switch lock.withLock({ $0.assign(job, isNested: isNested, limit: limit) }) {
        case .queued: break
        case .handedOver: lock.wakeOne()
        case .needsThread(let threadJob):
            do throws(LoadError) {
                try start(threadJob)
            } catch {
                lock.withLock { $0.revertAssignment(threadJob) }
                // Another job can have been queued because this job had the last slot. The other job must run later.
                retryLater()
                throw error
            }
        }
    }

    /// Does what ``run(isNested:_:)`` does. If no thread is available, the job waits until there is one.
    package func runEventually(isNested: Bool = false, _ job: @escaping Job) {
        let job = QueuedJob(job)
        let assignment = lock.withLock { state -> Assignment in
            guard state.willRetry, state.idleThreadCount == 0 else { return state.assign(job, isNested: isNested, limit: limit) }
            // The last attempt to start a thread failed. The next attempt serves all waiting jobs.
            if isNested { state.nestedJobs.append(job) } else { state.waitingJobs.append(job) }
            return .queued
        }
        switch assignment {
        case .queued: break
        case .handedOver: lock.wakeOne()
        case .needsThread(let threadJob): startOrRequeue(threadJob, isNested: isNested)
        }
    }

    private func start(_ threadJob: ThreadJob) throws(LoadError) {
        let first = Handover(threadJob)
        try startThread { [self] in runThread(first) }
    }

    /// Starts a thread for the job. If none can be started, the job waits for the next attempt.
    ///
    /// - Returns: whether a thread was started.
    @discardableResult
    private func startOrRequeue(_ threadJob: ThreadJob, isNested: Bool) -> Bool {
        do throws(LoadError) {
            try start(threadJob)
            return true
        } catch {
            lock.withLock { state in
                state.revertAssignment(threadJob)
                state.requeue(threadJob, isNested: isNested)
            }
            retryLater()
            return false
        }
    }

    // MARK: If no thread can be started

    private static let retryDelay = Duration.milliseconds(50)

    /// Schedules another attempt to start a thread, if waiting jobs could run. A thread that ends its job before that
    /// also runs them.
    private func retryLater() {
        let mustSchedule = lock.withLock { state in
            guard !state.willRetry, state.hasRunnableJob(limit: limit) else { return false }
            state.willRetry = true
            return true
        }
        guard mustSchedule else { return }
        let clock = clock ?? SystemClock.shared
        clock.schedule(ScheduledTimer { [self] in retry() }, at: clock.now + Self.retryDelay)
    }

    private func retry() {
        lock.withLock { $0.willRetry = false }
        runWaitingJobs()
    }

    /// Assigns threads to the waiting jobs that can run now, until no thread can be started.
    private func runWaitingJobs() {
        while true {
            let next = lock.withLock { state -> (assignment: Assignment, isNested: Bool)? in
                guard let (job, isNested) = state.nextRunnableJob(limit: limit) else { return nil }
                return (state.assignThread(to: ThreadJob(job: job, hasSlot: !isNested)), isNested)
            }
            switch next?.assignment {
            case nil, .queued: return
            case .handedOver: lock.wakeOne()
            case .needsThread(let threadJob): guard startOrRequeue(threadJob, isNested: next?.isNested ?? false) else { return }
            }
        }
    }

    // MARK: On a thread

    /// The name of each thread, for tools that list threads (`proc(5)`, /proc/thread-self/comm; at most 15 bytes).
    package static let threadName = "portolan-load"

    // Does not write to /proc/thread-self/comm, because that costs more than the start of a thread.
    private static func nameThread() {
        _ = unsafe pthread_setname_np(pthread_self(), threadName)
    }

    /// The main function of a thread.
    private func runThread(_ first: Handover) {
        Self.nameThread()
        let worker = LoadWorker(of: self)
        worker.becomeCurrent()
        var current = first.take()
        while current != nil { current = runAndTakeNext(current.take(), worker) }
        withExtendedLifetime(worker) {}
    }

    /// Runs a job and waits for the next one. Releases the job before the wait, because the job retains its load.
    private func runAndTakeNext(_ threadJob: consuming ThreadJob?, _ worker: LoadWorker) -> ThreadJob? {
        guard let hasSlot = threadJob?.hasSlot else { return nil }
        lock.withLock { $0.startedJobCount &+= 1 }
        worker.hasSlot = hasSlot
        threadJob?.job.run()
        threadJob = nil
        return nextWaitingJob(afterSlot: hasSlot) ?? waitForHandedOverJob()
    }

    /// Releases the slot of the last job, and returns a waiting job if one can run.
    private func nextWaitingJob(afterSlot hasSlot: Bool) -> ThreadJob? {
        lock.withLock { state in
            // More jobs than the limit can run, because a job that has waited for another load continues without a free
            // slot.
            if hasSlot { state.runningJobCount -= 1 }
            guard let (job, isNested) = state.nextRunnableJob(limit: limit) else { return nil }
            if !isNested { state.runningJobCount += 1 }
            return ThreadJob(job: job, hasSlot: !isNested)
        }
    }

    // MARK: Jobs without a slot

    /// Releases the slot of the calling job, which is about to wait for another load.
    ///
    /// - Throws: ``LoadError/Code/noResources`` if too many jobs already wait in this way.
    func releaseSlot() throws(LoadError) {
        let (isReleased, canRunOthers) = lock.withLock { state -> (Bool, Bool) in
            guard state.waitingForLoadCount < Self.maximumWaitingForLoads else { return (false, false) }
            state.waitingForLoadCount += 1
            state.runningJobCount -= 1
            return (true, !state.willRetry && state.hasRunnableJob(limit: limit))
        }
        guard isReleased else {
            throw LoadError(
                .noResources,
                message:
                    "\(Self.maximumWaitingForLoads) calls of loads already wait for other loads; wait for fewer loads at the same time, or use await"
            )
        }
        if canRunOthers { runWaitingJobs() }
    }

    /// The calling job no longer waits. It counts as a job with a slot again, even if no slot is free.
    func reacquireSlot() {
        lock.withLock { state in
            state.waitingForLoadCount -= 1
            state.runningJobCount += 1
        }
    }

    /// The number of jobs that have begun.
    package var startedJobCount: UInt64 { lock.withLock { $0.startedJobCount } }

    /// Runs at most `count` of the jobs that wait for a slot, without a slot. If no thread can be started, jobs
    /// continue to wait.
    package func runWaitingJobsWithoutSlots(atMost count: Int) {
        for _ in 0..<count {
            let assignment = lock.withLock { state in
                state.nextWaitingJob().map { state.assignThread(to: ThreadJob(job: $0, hasSlot: false)) }
            }
            switch assignment {
            case nil, .queued: return
            case .handedOver: lock.wakeOne()
            case .needsThread(let threadJob): guard startOrRequeue(threadJob, isNested: false) else { return }
            }
        }
    }

    /// Waits for a job as an idle thread. Returns `nil` after the idle time; the thread must then end.
    private func waitForHandedOverJob() -> ThreadJob? {
        lock.withLock { $0.idleThreadCount += 1 }
        Self.idleThreadCount.add(1, ordering: .relaxed)
        let handedOverJob = lock.wait(atMost: idleTime) { state in state.handedOverJobs.popLast() }
        Self.idleThreadCount.subtract(1, ordering: .relaxed)
        return handedOverJob
            ?? lock.withLock { state in
                // A job can have been handed over after the time limit. This thread is then no longer counted as idle.
                if let handedOverJob = state.handedOverJobs.popLast() { return handedOverJob }
                state.idleThreadCount -= 1
                state.threadCount -= 1
                return nil
            }
    }

    /// Passes the first job to a new thread. The thread's closure retains this object for the life of the thread, but
    /// must not retain the job for that time.
    private final class Handover: Sendable {
        private let threadJob: Mutex<ThreadJob?>

        init(_ threadJob: ThreadJob) { self.threadJob = Mutex(threadJob) }

        func take() -> ThreadJob? { threadJob.withLock { $0.take() } }
    }
}
