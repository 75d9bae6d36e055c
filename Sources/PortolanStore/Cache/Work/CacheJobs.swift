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
        }

        private let state = ConditionLock(State())

        /// - Parameter isUrgent: whether the job comes before those that are not.
        func submit(isUrgent: Bool = true, _ job: @escaping Job) {
            state.withLock { state in
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
                return state.isEnded ? .some(nil) : nil
            }
        }

        /// Runs jobs until the end.
        func run(_ context: Context) {
            while let job = next() { job(context) }
        }
    }
#endif
