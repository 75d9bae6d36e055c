// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The caller's forms: each is a delegate of its own kind on the same ``LoadTask``.
extension Loader {
    /// Loads a URL's whole body into memory.
    ///
    ///     let (body, response) = try await loader.data(from: "data:,Hello")
    ///
    /// A load that needs nothing from outside ends without suspending the caller. Cancelling the surrounding task cancels the load.
    ///
    /// - Throws: why the load failed; ``LoadError/Code/badURL`` if `url` is none.
    public func data(from url: String) async throws(LoadError) -> (Data, Response) {
        try await data(for: Request(url))
    }

    /// Loads the whole body of a request into memory; of several parts, the last one.
    ///
    /// The caller is suspended meanwhile and holds no thread.
    ///
    /// - Parameters:
    ///   - request: what to load.
    ///   - delegate: hears of redirects, challenges and the like, on ``DeliveryQueue/background``, where it may block; not of the response and
    ///     the data. All its calls come before the outcome.
    /// - Throws: why the load failed; ``LoadError/Code/cancelled`` where the surrounding task was cancelled; ``LoadError/Code/limitExceeded``
    ///   over ``Configuration/collectedBodyLimit``.
    public func data(for request: Request, delegate: (any LoadDelegate)? = nil) async throws(LoadError) -> (Data, Response) {
        let (task, collector) = collect(request, delegate, on: .background)
        // Nothing is loaded for a caller who is cancelled already. With a delegate, the end comes from its queue.
        if Task.isCancelled { task.cancel() } else { task.resume() }
        if let outcome = collector.takeResult() { return try outcome.get() }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                collector.whenEnded { continuation.resume(returning: $0) }
            }
        } onCancel: {
            task.cancel()
        }
        return try outcome.get()
    }

    /// Loads a request and gives its body in pieces, as fast as the caller takes them.
    ///
    /// - Parameters:
    ///   - request: what to load.
    ///   - delegate: as for ``data(for:delegate:)``.
    /// - Throws: why no response came. What goes wrong later, the sequence throws.
    public func bytes(for request: Request, delegate: (any LoadDelegate)? = nil) async throws(LoadError) -> (ByteChunks, Response) {
        let queue = ChunkQueue(limit: configuration.bufferLimit, delegate: delegate)
        let task = LoadTask(request, loader: self, delegate: queued(queue, for: delegate, on: .background))
        let source = ChunkSource(task: task, queue: queue)
        if Task.isCancelled { task.cancel() } else { task.resume() }
        if let head = queue.head { return (ByteChunks(source: source), try head.get()) }
        let head = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.whenHeadIsKnown { continuation.resume(returning: $0) }
            }
        } onCancel: {
            task.cancel()
        }
        return (ByteChunks(source: source), try head.get())
    }

    /// As ``bytes(for:delegate:)``, for a URL as text.
    public func bytes(from url: String) async throws(LoadError) -> (ByteChunks, Response) {
        try await bytes(for: Request(url))
    }

    /// A task that reports to `delegate`; ``LoadTask/resume()`` starts it.
    ///
    /// - Parameters:
    ///   - request: what to load.
    ///   - delegate: hears of every event; the task holds it as long as it lives.
    ///   - queue: where the delegate is called. On a queue of the caller's, bytes are copied once, and the handler is paused when more than
    ///     ``Configuration/bufferLimit`` of them wait.
    public func task(for request: Request, delegate: any LoadDelegate, on queue: DeliveryQueue = .immediate) -> LoadTask {
        guard let enqueue = queue.enqueue else { return LoadTask(request, loader: self, delegate: delegate) }
        let queued = QueuedDelegate(delegate, limit: configuration.bufferLimit, enqueue: enqueue)
        return LoadTask(request, loader: self, delegate: queued)
    }

    /// Starts a load of a whole body into memory and calls `completion` once, on `queue`; possibly before this returns, where the queue is
    /// ``DeliveryQueue/immediate``.
    ///
    /// - Parameters:
    ///   - request: what to load.
    ///   - delegate: hears of redirects, challenges and the like, on `queue`; not of the response and the data. All its calls come before
    ///     the completion.
    ///   - queue: where both are called. On the default one they may block and wait for other loads.
    ///   - completion: the whole body and its response, or why there is none.
    @discardableResult
    public func load(
        _ request: Request, delegate: (any LoadDelegate)? = nil, on queue: DeliveryQueue = .background,
        completion: @escaping @Sendable (Result<(Data, Response), LoadError>) -> Void
    ) -> LoadTask {
        let (task, collector) = collect(request, delegate, on: queue)
        collector.whenEnded { outcome in
            if let enqueue = queue.enqueue { enqueue { completion(outcome) } } else { completion(outcome) }
        }
        task.resume()
        return task
    }

    /// As ``data(for:delegate:)``, but blocks the calling thread: for programs and threads that are not asynchronous. The delegate is called on the
    /// load's own threads, and the calling thread may be one of them.
    ///
    /// Where a delegate or completion handler waits on the thread of an event loop (``DeliveryQueue/immediate``), this fails with
    /// ``LoadError/Code/noResources``: the loop would have to bring what is waited for. A load that needs no waiting is not refused there, unless its method
    /// may change something (`POST` and the like), which is not sent. In one that a load calls on a thread of its own, as
    /// `file:` and blocking plugins do, the wait does not count towards the limit on those threads; at most 512 of a kind wait at once.
    @available(*, noasync, message: "this blocks the thread; await data(for:) instead")
    public func waitForData(for request: Request, delegate: (any LoadDelegate)? = nil) throws(LoadError) -> (Data, Response) {
        let waiter = LoadWaiter()
        let (task, collector) = collect(request, delegate, on: .immediate, waiter: waiter)
        do throws(LoadError) {
            try task.run(waiter)
        } catch {
            task.end(with: error)
            throw error
        }
        guard let outcome = collector.takeResult() else { throw LoadError(.unknown, message: "the load ended without an outcome") }
        return try outcome.get()
    }

    private func collect(
        _ request: Request, _ delegate: (any LoadDelegate)?, on queue: DeliveryQueue, waiter: LoadWaiter? = nil
    ) -> (LoadTask, BodyAccumulator) {
        let collector = BodyAccumulator(delegate: delegate, for: waiter)
        let sink = queued(collector, for: delegate, on: queue)
        return (LoadTask(request, loader: self, delegate: sink, bodyLimit: configuration.collectedBodyLimit, waiter: waiter), collector)
    }

    /// `sink` itself, or where it has a caller's delegate, in front of it what brings to `queue` all that concerns the delegate, and the end after that.
    private func queued(_ sink: some DelegatingDelegate, for delegate: (any LoadDelegate)?, on queue: DeliveryQueue) -> any LoadDelegate {
        guard delegate != nil, let enqueue = queue.enqueue else { return sink }
        return QueuedDelegate(sink, limit: configuration.bufferLimit, takesBytesAtOnce: true, enqueue: enqueue)
    }
}
