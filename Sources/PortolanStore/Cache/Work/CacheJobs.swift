// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCore

    /// A queue of jobs for one thread. The thread passes its context to each job. No other thread uses the context.
    final class CacheJobs<Context>: Sendable {
        typealias Job = @Sendable (Context) -> Void

        private struct Queue {
            private var jobs: [Job?] = []
            private var start = 0

            mutating func append(_ job: @escaping Job) { jobs.append(job) }

            mutating func next() -> Job? {
                guard start < jobs.count else { return nil }
                defer {
                    jobs[start] = nil
                    start += 1
                    if start == jobs.count { (jobs, start) = ([], 0) }
                }
                return jobs[start]
            }
        }

        private struct State {
            var urgent = Queue()
            var others = Queue()
            var isEnding = false
            /// Whether the thread has run its last job.
            var isOver = false
        }

        private let state = ConditionLock(State())

        /// Adds a job. Has no effect after the thread has run its last job, because a job in the queue would retain the
        /// objects that it captures.
        ///
        /// - Parameter isUrgent: whether the job runs before those that are not urgent.
        func submit(isUrgent: Bool = true, _ job: @escaping Job) {
            state.withLock { state in
                if state.isOver { return }
                if isUrgent { state.urgent.append(job) } else { state.others.append(job) }
            }
            state.wakeOne()
        }

        /// Makes ``run(_:)`` return when no job is left.
        func end() { state.withLockBroadcasting { $0.isEnding = true } }

        /// Waits for the next job; `nil` at the end.
        private func next() -> Job? {
            // `nil` waits longer, and `.some(nil)` means that no job will follow.
            state.wait { state -> Job?? in
                if let job = state.urgent.next() ?? state.others.next() { return .some(job) }
                state.isOver = state.isEnding
                return state.isOver ? .some(nil) : nil
            }
        }

        /// Runs jobs until ``end()`` was called and no job is left.
        func run(_ context: Context) {
            while let job = next() { job(context) }
        }
    }
#endif
