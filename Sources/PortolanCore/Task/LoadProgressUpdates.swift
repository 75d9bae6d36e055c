// SPDX-License-Identifier: Apache-2.0

/// The progress of a task while it runs, with its rate.
///
/// Each iterator waits for the interval between two values, and skips values that have not changed. The last value is
/// that at the end of the task; the sequence then ends. A reader that is slow misses values, and delays nothing. If the
/// reading Swift task is cancelled, the sequence ends. The load continues.
public struct LoadProgressUpdates: AsyncSequence, Sendable {
    public typealias Element = LoadProgress
    public typealias Failure = Never

    let task: LoadTask
    let interval: Duration

    public func makeAsyncIterator() -> Iterator { Iterator(task: task, interval: interval) }

    public struct Iterator: AsyncIteratorProtocol {
        private let task: LoadTask
        private let interval: Duration
        private var rates: (sent: TransferRate, received: TransferRate)
        private var last: LoadProgress?
        private var isOver = false

        init(task: LoadTask, interval: Duration) {
            (self.task, self.interval) = (task, interval)
            let (now, progress) = (task.loader.configuration.clock.now, task.progress)
            rates = (TransferRate(at: now, progress.bytesSent), TransferRate(at: now, progress.bytesReceived))
        }

        public mutating func next() async -> LoadProgress? { await next(isolation: #isolation) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> LoadProgress? {
            let clock = task.loader.configuration.clock
            while !isOver {
                // `try?` because a cancel ends the sequence below.
                if last != nil { try? await clock.sleep(for: interval) }
                // The state is read before the progress, so that the last value has all bytes. The delegate of a
                // download writes bytes after the load has ended.
                isOver = Task.isCancelled || (task.state == .ended && !task.loader.startedTasks.contains(task.identifier))
                if Task.isCancelled { return nil }
                var progress = task.progress
                let now = clock.now
                let sent = rates.sent.update(at: now, progress.bytesSent)
                let received = rates.received.update(at: now, progress.bytesReceived)
                progress.bytesPerSecond = sent.flatMap { sent in received.map { sent + $0 } }
                if isOver || last.map({ !$0.hasSameCounts(as: progress) }) ?? true {
                    last = progress
                    return progress
                }
            }
            return nil
        }
    }
}

/// The rate of a transfer, as a moving average that forgets old values within some seconds.
struct TransferRate {
    /// In seconds. After this time, a new rate has half of the weight.
    private static let timeConstant = 3.0
    /// The shortest time, in seconds, from which the first rate is computed. The first bytes come after some wait.
    private static let shortestTime = 0.1

    private var (time, count): (Duration, Int64)
    private var average: Double?

    init(at time: Duration, _ count: Int64) { (self.time, self.count) = (time, count) }

    /// - Returns: bytes per second; `nil` in the first tenth of a second.
    mutating func update(at now: Duration, _ newCount: Int64) -> Double? {
        let seconds = (now - time) / .seconds(1)
        guard seconds >= (average == nil ? Self.shortestTime : .leastNonzeroMagnitude) else { return average }
        // In a multipart load, a new part begins at 0.
        let current = Double(newCount >= count ? newCount - count : newCount) / seconds
        let weight = 1 - 1 / (1 + seconds / Self.timeConstant)
        average = average.map { $0 + (current - $0) * weight } ?? current
        (time, count) = (now, newCount)
        return average
    }
}

extension LoadProgress {
    fileprivate func hasSameCounts(as other: LoadProgress) -> Bool {
        (bytesReceived, bytesSent, bytesWritten) == (other.bytesReceived, other.bytesSent, other.bytesWritten)
    }
}

extension LoadTask {
    /// The progress of the task until its end, with its rate and the time that is left.
    ///
    ///     for await progress in task.progressUpdates() { print(progress.fractionReceived ?? 0) }
    ///
    /// - Parameter interval: the time between two values.
    public func progressUpdates(every interval: Duration = .milliseconds(200)) -> LoadProgressUpdates {
        LoadProgressUpdates(task: self, interval: max(interval, .milliseconds(1)))
    }
}
