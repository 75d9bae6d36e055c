// SPDX-License-Identifier: Apache-2.0

/// The body of a load, in the pieces in which it comes: never empty, of any size up to what the handler delivers at once.
///
/// Read it once. A reader that does not ask for more pauses the handler; when the sequence and its iterators are let go, the load is cancelled.
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

        public mutating func next() async throws(LoadError) -> [UInt8]? {
            try await source.next()
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async throws(LoadError) -> [UInt8]? {
            try await source.next()
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

    func next() async throws(LoadError) -> [UInt8]? {
        if let piece = queue.next(of: task) { return try piece.get() }
        let piece = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.whenNext(of: task) { continuation.resume(returning: $0) }
            }
        } onCancel: { [task] in
            task.cancel()
        }
        return try piece.get()
    }
}
