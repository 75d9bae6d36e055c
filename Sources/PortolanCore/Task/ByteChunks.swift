// SPDX-License-Identifier: Apache-2.0

/// The body of a load, in the pieces in which it comes: never empty, of any size up to what the handler delivers at once.
///
/// Read it once. A reader that does not ask for more pauses the handler; when the sequence and its iterators are let go, the load is cancelled.
/// When the task that reads is cancelled, the next read cancels the load, drops the bytes that wait, and throws
/// ``LoadError/Code/cancelled``.
/// A reader that never has to wait gives way to others after every 16 pieces (`Task.yield()`).
public struct ByteChunks: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    public typealias Failure = LoadError

    let source: ChunkSource

    /// The load behind the bytes.
    public var task: LoadTask { source.task }

    public func makeAsyncIterator() -> Iterator {
        Iterator(source: source)
    }

    public struct Iterator: AsyncIteratorProtocol {
        let source: ChunkSource
        private var busySteps = YieldCounter()

        init(source: ChunkSource) { self.source = source }

        public mutating func next() async throws(LoadError) -> [UInt8]? {
            if busySteps.next() { await Task.yield() }
            if let piece = source.waitingPiece() { return try piece.get() }
            busySteps.suspended()
            return try await source.nextPiece().get()
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(LoadError) -> [UInt8]? {
            if busySteps.next() { await Task.yield() }
            if let piece = source.waitingPiece() { return try piece.get() }
            busySteps.suspended()
            return try await source.nextPiece().get()
        }
    }
}

/// Keeps a load alive for as long as someone may read from it.
final class ChunkSource: Sendable {
    let task: LoadTask
    let queue: ChunkQueue

    init(task: LoadTask, queue: ChunkQueue) {
        self.task = task
        self.queue = queue
    }

    deinit { task.cancel() }

    /// The next piece, where no one has to wait for it: for a reader that was cancelled, that is the error.
    func waitingPiece() -> ChunkQueue.Piece? {
        if Task.isCancelled {
            queue.cancel(LoadError(.cancelled, message: "the task that reads \(task.originalRequest.url.shortDescription) was cancelled"))
            task.cancel()
        }
        return queue.next(of: task)
    }

    func nextPiece() async -> ChunkQueue.Piece {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.whenNext(of: task) { continuation.resume(returning: $0) }
            }
        } onCancel: { [task] in
            task.cancel()
        }
    }
}
