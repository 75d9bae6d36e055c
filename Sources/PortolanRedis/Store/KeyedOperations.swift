// SPDX-License-Identifier: Apache-2.0

#if Redis
    import Synchronization

    /// Runs the operations for a key one after another, because each of them sends several commands. So a lookup finds
    /// what the same process has stored before.
    final class KeyedOperations: Sendable {
        /// Calls its argument once, when it is done.
        typealias Operation = @Sendable (@escaping @Sendable () -> Void) -> Void

        /// The waiting operations for each key that has a running operation.
        private let waiting = Mutex<[String: [Operation]]>([:])

        /// The largest number of waiting operations of a key.
        private static let limit = 64

        /// Runs an operation after those that were added for the key before.
        ///
        /// - Returns: `false` if too many operations wait. The operation is then not run.
        func run(_ key: String, _ operation: @escaping Operation) -> Bool {
            let mustRun: Bool? = waiting.withLock { waiting in
                guard let count = waiting[key]?.count else {
                    waiting[key] = []
                    return true
                }
                guard count < Self.limit else { return nil }
                waiting[key]?.append(operation)
                return false
            }
            if mustRun == true { operation { [weak self] in self?.runNext(key) } }
            return mustRun != nil
        }

        /// Whether an operation for the key is running.
        func isBusy(_ key: String) -> Bool { waiting.withLock { $0[key] != nil } }

        private func runNext(_ key: String) {
            let next: Operation? = waiting.withLock { waiting in
                guard let first = waiting[key]?.first else {
                    waiting[key] = nil
                    return nil
                }
                waiting[key]?.removeFirst()
                return first
            }
            next? { [weak self] in self?.runNext(key) }
        }
    }
#endif
