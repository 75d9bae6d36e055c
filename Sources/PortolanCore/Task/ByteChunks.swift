// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The body of a load, in pieces as they arrive. A piece is never empty.
///
/// The sequence can be read once. While more bytes wait for the reader than the loader buffers, the handler is paused.
/// When the sequence and its iterators are released, the load is cancelled. When the Swift task that reads is
/// cancelled, a read that waits, or the next read, cancels the load, drops the buffered bytes, and throws
/// ``LoadError/Code/cancelled``. A reader that never has to wait yields to other Swift tasks after every 16 pieces
/// (`Task.yield()`).
public struct ByteChunks: AsyncSequence, Sendable {
    public typealias Element = [UInt8]
    public typealias Failure = LoadError

    let source: ChunkSource

    /// The task that loads the body.
    public var task: LoadTask { source.task }

    /// Reserves the body for a reader that will read all of it.
    ///
    /// - Returns: `false` if a part was already read, or the body was already reserved.
    package func reserveUnreadBody() -> Bool { source.queue.reserveUnreadBody() }

    public func makeAsyncIterator() -> Iterator {
        Iterator(source: source)
    }

    /// Reads the rest of the body into memory.
    ///
    /// - Parameter limit: the largest number of bytes; by default the loader's
    ///   ``Loader/Configuration/maximumBodySizeInMemory``.
    /// - Throws: the reason why the load failed; ``LoadError/Code/limitExceeded`` if there are more bytes. The load is
    ///   then cancelled.
    public func collect(upTo limit: Int64? = nil) async throws(LoadError) -> Data {
        let limit = limit ?? task.loader.configuration.maximumBodySizeInMemory
        var body = Data()
        var iterator = makeAsyncIterator()
        while let piece = try await iterator.next() {
            guard Int64(body.count) + Int64(piece.count) <= limit else {
                task.cancel()
                throw LoadError(.limitExceeded, message: "the rest of the body is larger than \(limit) bytes, the limit")
            }
            body += piece
        }
        return body
    }

    public struct Iterator: AsyncIteratorProtocol {
        let source: ChunkSource
        private var yieldCounter = YieldCounter()

        init(source: ChunkSource) { self.source = source }

        public mutating func next() async throws(LoadError) -> [UInt8]? {
            if yieldCounter.countStep() { await Task.yield() }
            if let piece = source.takeBufferedResult() { return try piece.get() }
            yieldCounter.reset()
            return try await source.nextPiece().get()
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(LoadError) -> [UInt8]? {
            if yieldCounter.countStep() { await Task.yield() }
            if let piece = source.takeBufferedResult() { return try piece.get() }
            yieldCounter.reset()
            return try await source.nextPiece().get()
        }
    }
}

/// Retains the load's task while a sequence or an iterator can read the body, and then cancels the task.
final class ChunkSource: Sendable {
    let task: LoadTask
    let queue: ChunkQueue

    init(task: LoadTask, queue: ChunkQueue) {
        self.task = task
        self.queue = queue
    }

    deinit { task.cancel() }

    /// Returns the next piece, the end or the error if it is available without waiting. If the Swift task that reads
    /// was cancelled, cancels the load.
    func takeBufferedResult() -> ChunkQueue.Piece? {
        if Task.isCancelled {
            let url = task.originalRequest.url.shortDescription
            queue.cancel(LoadError(.cancelled, message: "the Swift task that reads \(url) was cancelled"))
            task.cancel()
        }
        return queue.nextPiece(of: task)
    }

    func nextPiece() async -> ChunkQueue.Piece {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.whenNextPiece(of: task) { continuation.resume(returning: $0) }
            }
        } onCancel: { [task] in
            task.cancel()
        }
    }
}
