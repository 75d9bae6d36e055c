// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
import Synchronization

/// Methods that make requests and tasks. Most of them also start the task and return its result.
extension Loader {
    /// Makes a request for a URL as text. A relative URL refers to ``Configuration/baseURL``.
    ///
    /// - Throws: ``LoadError/Code/badURL`` if the text is not a URL, or if it is relative and the loader has no base.
    public func makeRequest(
        _ url: String, method: HTTPRequest.Method = .get, fields: HTTPFields = HTTPFields(), body: Body? = nil
    ) throws(LoadError) -> Request {
        do throws(URLSyntaxError) {
            let url = try URLRecord(parsing: url, relativeTo: configuration.baseURL)
            return Request(url: url, method: method, fields: fields, body: body)
        } catch {
            throw LoadError(.badURL, message: error.description)
        }
    }

    /// Loads a URL's whole body into memory.
    ///
    ///     let (body, response) = try await loader.data(from: "data:,Hello")
    ///
    /// A load that does not wait for I/O ends without suspending the caller. If the surrounding Swift task is
    /// cancelled, the load is cancelled.
    ///
    /// - Parameter url: a relative URL refers to ``Configuration/baseURL``.
    /// - Throws: the reason why the load failed; ``LoadError/Code/badURL`` if `url` is not a URL.
    public func data(from url: String) async throws(LoadError) -> (Data, Response) {
        try await data(for: makeRequest(url))
    }

    /// Loads a request's whole body into memory. Of a multipart response, only the last part.
    ///
    /// The caller is suspended until the end of the load and occupies no thread.
    ///
    /// - Parameters:
    ///   - request: the request to load.
    ///   - delegate: receives redirects, challenges, the end and similar events, but not the response and the data. It
    ///     is called on ``DeliveryQueue/background``, where it may block. All its calls come before the result. At the
    ///     end, it can read ``LoadTask/metrics``.
    /// - Throws: the reason why the load failed; ``LoadError/Code/cancelled`` if the surrounding task was cancelled;
    ///   ``LoadError/Code/limitExceeded`` for a body larger than ``Configuration/maximumBodySizeInMemory``.
    public func data(for request: Request, delegate: (any LoadDelegate)? = nil) async throws(LoadError) -> (Data, Response) {
        let (task, accumulator) = makeAccumulatingTask(request, delegate, on: .background)
        // If the calling Swift task is already cancelled, nothing is loaded. With a delegate, the end comes from its
        // queue.
        if Task.isCancelled { task.cancel() } else { task.resume() }
        if let outcome = accumulator.takeResult() { return try outcome.get() }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                accumulator.whenEnded { continuation.resume(returning: $0) }
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
    ///   - delegate: as for ``data(for:delegate:)``. It can receive the end before the caller has read all pieces.
    /// - Throws: the reason why no response came. The sequence throws later failures.
    public func bytes(for request: Request, delegate: (any LoadDelegate)? = nil) async throws(LoadError) -> (ByteChunks, Response) {
        let delegate = delegate ?? delegateOfNewTasks
        let queue = ChunkQueue(limit: configuration.bufferSize, delegate: delegate)
        let task = LoadTask(request, loader: self, delegate: queue, on: delegate == nil ? .immediate : .background, queuesBodyEvents: false)
        let source = ChunkSource(task: task, queue: queue)
        if Task.isCancelled { task.cancel() } else { task.resume() }
        if let response = queue.response { return (ByteChunks(source: source), try response.get()) }
        let response = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.whenResponseIsKnown { continuation.resume(returning: $0) }
            }
        } onCancel: {
            task.cancel()
        }
        return (ByteChunks(source: source), try response.get())
    }

    /// Does what ``bytes(for:delegate:)`` does, for a URL as text.
    public func bytes(from url: String) async throws(LoadError) -> (ByteChunks, Response) {
        try await bytes(for: makeRequest(url))
    }

    /// Makes a task that reports to `delegate`. ``LoadTask/resume()`` starts it.
    ///
    /// - Parameters:
    ///   - request: the request to load.
    ///   - delegate: receives every event. The task retains it until the task itself is released.
    ///   - queue: where the delegate is called. On every queue except ``DeliveryQueue/immediate``, bytes are copied
    ///     once, and the handler is paused while more than ``Configuration/bufferSize`` bytes wait.
    public func task(for request: Request, delegate: any LoadDelegate, on queue: DeliveryQueue = .immediate) -> LoadTask {
        LoadTask(request, loader: self, delegate: delegate, on: queue)
    }

    /// Makes a task that can load another request once it sees a response.
    ///
    /// - Parameter replacementRequest: called for each response before it is delivered, on the thread of the load. If
    ///   it returns a request, the response is not delivered, and the task loads that request instead.
    package func task(
        for request: Request, delegate: any LoadDelegate, on queue: DeliveryQueue,
        replacementRequest: (@Sendable (Response) -> Request?)?
    ) -> LoadTask {
        LoadTask(request, loader: self, delegate: delegate, on: queue, replacementRequest: replacementRequest)
    }

    /// Loads a request's whole body into memory, and calls `completion` once, on `queue`. On
    /// ``DeliveryQueue/immediate``, the call can come before this method returns.
    ///
    /// - Parameters:
    ///   - request: the request to load.
    ///   - delegate: receives redirects, challenges, the end and similar events on `queue`, but not the response and
    ///     the data. All its calls come before the completion.
    ///   - queue: where `delegate` and `completion` are called. On the default queue they may block and wait for other
    ///     loads.
    ///   - completion: receives the whole body and its response, or the reason why there is none.
    @discardableResult
    public func load(
        _ request: Request, delegate: (any LoadDelegate)? = nil, on queue: DeliveryQueue = .background,
        completion: @escaping @Sendable (Result<(Data, Response), LoadError>) -> Void
    ) -> LoadTask {
        let (task, accumulator) = makeAccumulatingTask(request, delegate, on: queue)
        accumulator.whenEnded { outcome in
            if let enqueue = queue.enqueue { enqueue { completion(outcome) } } else { completion(outcome) }
        }
        task.resume()
        return task
    }

    /// Does what ``data(for:delegate:)`` does, but blocks the calling thread. For programs and threads that are not
    /// asynchronous. The delegate is called on the load's own threads, possibly on the calling thread.
    ///
    /// If a delegate or completion handler calls this method on the thread of an event loop
    /// (``DeliveryQueue/immediate``), the call fails with ``LoadError/Code/noResources``, because that event loop would
    /// have to deliver the load. There, a load that does not have to wait succeeds if its method is safe (RFC 9110
    /// §9.2.1). Another request, such as a `POST`, is not sent.
    ///
    /// Loads of `file:` and of blocking plugins call the delegate on a thread of their pool. While the delegate waits
    /// in this method, that thread does not count towards the pool's limit. At most 512 threads per pool can wait at
    /// the same time.
    @available(*, noasync, message: "this blocks the thread; await data(for:) instead")
    public func waitForData(for request: Request, delegate: (any LoadDelegate)? = nil) throws(LoadError) -> (Data, Response) {
        let waiter = LoadWaiter()
        let (task, accumulator) = makeAccumulatingTask(request, delegate, on: .immediate, waitingThread: waiter)
        do throws(LoadError) {
            try task.runAndWait(waiter)
        } catch {
            task.end(with: error)
            throw error
        }
        guard let outcome = accumulator.takeResult() else { throw LoadError(.unknown, message: "the load ended without a result") }
        return try outcome.get()
    }

    private func makeAccumulatingTask(
        _ request: Request, _ delegate: (any LoadDelegate)?, on queue: DeliveryQueue, waitingThread: LoadWaiter? = nil
    ) -> (LoadTask, BodyAccumulator) {
        let delegate = delegate ?? delegateOfNewTasks
        let accumulator = BodyAccumulator(delegate: delegate, for: waitingThread)
        let task = LoadTask(
            request, loader: self, delegate: accumulator, on: delegate == nil ? .immediate : queue, queuesBodyEvents: false,
            bodyLimit: configuration.maximumBodySizeInMemory, waitingThread: waitingThread)
        return (task, accumulator)
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
