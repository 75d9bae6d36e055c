// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import PortolanCore

    /// The jobs of one thread, which alone has the context.
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
            var isEnded = false
            /// Whether the thread has run its last job.
            var isOver = false
        }

        private let state = ConditionLock(State())

        /// Has no effect after the last job. A job that nobody runs would keep alive what it refers to.
        ///
        /// - Parameter isUrgent: whether the job comes before those that are not.
        func submit(isUrgent: Bool = true, _ job: @escaping Job) {
            state.withLock { state in
                if state.isOver { return }
                if isUrgent { state.urgent.append(job) } else { state.others.append(job) }
            }
            state.wakeOne()
        }

        /// Ends the thread after the jobs that were submitted before.
        func end() { state.withLockBroadcasting { $0.isEnded = true } }

        /// Waits for the next job; `nil` at the end.
        private func next() -> Job? {
            state.wait { state -> Job?? in
                if let job = state.urgent.next() ?? state.others.next() { return .some(job) }
                state.isOver = state.isEnded
                return state.isOver ? .some(nil) : nil
            }
        }

        /// Runs jobs until the end.
        func run(_ context: Context) {
            while let job = next() { job(context) }
        }
    }
#endif
