// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The caller's convenience methods. Each one puts a different kind of delegate on the same ``LoadTask``.
extension Loader {
    /// Loads a URL's whole body into memory.
    ///
    ///     let (body, response) = try await loader.data(from: "data:,Hello")
    ///
    /// A load that needs nothing from outside ends without suspending the caller. Cancelling the surrounding task
    /// cancels the load.
    ///
    /// - Throws: the reason why the load failed; ``LoadError/Code/badURL`` if `url` is not a URL.
    public func data(from url: String) async throws(LoadError) -> (Data, Response) {
        try await data(for: Request(url))
    }

    /// Loads the whole body of a request into memory; of a multipart response, the last part.
    ///
    /// The caller is suspended meanwhile and occupies no thread.
    ///
    /// - Parameters:
    ///   - request: the request to load.
    ///   - delegate: receives redirects, challenges and similar events, but not the response and the data. It is called
    ///     on ``DeliveryQueue/background``, where it may block. All its calls come before the result.
    /// - Throws: the reason why the load failed; ``LoadError/Code/cancelled`` if the surrounding task was cancelled;
    ///   ``LoadError/Code/limitExceeded`` for a body larger than ``Configuration/maximumBodySizeInMemory``.
    public func data(for request: Request, delegate: (any LoadDelegate)? = nil) async throws(LoadError) -> (Data, Response) {
        let (task, collector) = collect(request, delegate, on: .background)
        // Nothing is loaded for a caller that is already cancelled. With a delegate, the end comes from its queue.
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

    /// Loads a request and returns its body in pieces, as fast as the caller reads them.
    ///
    /// - Parameters:
    ///   - request: the request to load.
    ///   - delegate: as for ``data(for:delegate:)``.
    /// - Throws: the reason why no response came. The sequence throws later failures.
    public func bytes(for request: Request, delegate: (any LoadDelegate)? = nil) async throws(LoadError) -> (ByteChunks, Response) {
        let queue = ChunkQueue(limit: configuration.bufferSize, delegate: delegate)
        let task = LoadTask(request, loader: self, delegate: queue, on: delegate == nil ? .immediate : .background, queuesBytes: false)
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

    /// Does what ``bytes(for:delegate:)`` does, for a URL as text.
    public func bytes(from url: String) async throws(LoadError) -> (ByteChunks, Response) {
        try await bytes(for: Request(url))
    }

    /// Makes a task that reports to `delegate`. ``LoadTask/resume()`` starts it.
    ///
    /// - Parameters:
    ///   - request: the request to load.
    ///   - delegate: receives every event. The task retains it for its whole life.
    ///   - queue: where the delegate is called. On any queue but ``DeliveryQueue/immediate``, bytes are copied once,
    ///     and the handler is paused when more than ``Configuration/bufferSize`` of them wait.
    public func task(for request: Request, delegate: any LoadDelegate, on queue: DeliveryQueue = .immediate) -> LoadTask {
        LoadTask(request, loader: self, delegate: delegate, on: queue)
    }

    /// Starts a load of a whole body into memory and calls `completion` once, on `queue`. On
    /// ``DeliveryQueue/immediate``, that may happen before this method returns.
    ///
    /// - Parameters:
    ///   - request: the request to load.
    ///   - delegate: receives redirects, challenges and similar events on `queue`, but not the response and the data.
    ///     All its calls come before the completion.
    ///   - queue: where both are called. On the default queue they may block and wait for other loads.
    ///   - completion: receives the whole body and its response, or the reason why there is none.
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

    /// Does what ``data(for:delegate:)`` does, but blocks the calling thread: for programs and threads that are not
    /// asynchronous. The delegate is called on the load's own threads, possibly on the calling thread.
    ///
    /// If a delegate or completion handler waits on the thread of an event loop (``DeliveryQueue/immediate``), this
    /// fails with ``LoadError/Code/noResources``, because that event loop would have to deliver the load. A load that
    /// needs no waiting succeeds there, unless its method may change something (`POST` and the like): such a request is
    /// not sent. If a load calls the delegate on its own thread, as `file:` and blocking plugins do, the wait does not
    /// count towards the limit on those threads. At most 512 such calls per thread pool wait at once.
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
        let task = LoadTask(
            request, loader: self, delegate: collector, on: delegate == nil ? .immediate : queue, queuesBytes: false,
            bodyLimit: configuration.maximumBodySizeInMemory, waiter: waiter)
        return (task, collector)
    }
}

/// The same methods for Foundation's URLs.
extension Loader {
    /// Does what ``data(for:delegate:)`` does, for a Foundation URL.
    public func data(from url: URL) async throws(LoadError) -> (Data, Response) {
        try await data(for: Request(url))
    }

    /// Does what ``bytes(for:delegate:)`` does, for a Foundation URL.
    public func bytes(from url: URL) async throws(LoadError) -> (ByteChunks, Response) {
        try await bytes(for: Request(url))
    }
}
