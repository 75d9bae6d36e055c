// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import HTTPTypes
public import PortolanCore
import Synchronization

/// Loads into files. A file with the destination's name is always complete.
///
/// A response with another status than 2xx is an error: ``LoadError/Code/notFound`` for 404 and 410,
/// ``LoadError/Code/accessDenied`` for 403, ``LoadError/Code/authenticationRequired`` for 401 and 407, and
/// ``LoadError/Code/badResponse`` for others, also for redirects that are not followed, and for a 206 without `Range`
/// in the request. ``LoadError/Code/ioFailed`` means that the file can't be written, and says why: a full disk, a
/// folder that does not exist, a permission.
///
/// After a crash of the machine, a file that was just completed can be damaged, because nothing waits for the disk
/// (fsync(2)).
///
/// Downloads ask for no content coding, unless the request has the field `Accept-Encoding`, because a download whose
/// bytes are decoded can't be continued.
extension Loader {
    /// Loads a URL into a file.
    ///
    ///     let file = try await loader.download(from: "https://example.com/a.tar.gz", to: .file("a.tar.gz"))
    ///
    /// - Parameter url: a relative URL refers to ``Configuration/baseURL``.
    /// - Throws: as ``download(for:to:resuming:delegate:)``; ``LoadError/Code/badURL`` if `url` is not a URL.
    @discardableResult
    public func download(from url: String, to destination: DownloadDestination) async throws(LoadError) -> DownloadedFile {
        try await download(for: makeRequest(url), to: destination)
    }

    /// Does what ``download(for:to:resuming:delegate:)`` does, for a Foundation URL.
    @discardableResult
    public func download(from url: URL, to destination: DownloadDestination) async throws(LoadError) -> DownloadedFile {
        try await download(for: Request(url), to: destination)
    }

    /// Loads a request into a file, and continues an earlier download if there is resume data.
    ///
    /// If the server has another version by now, or sends no parts, the file is loaded from its start, and
    /// ``DownloadedFile/restartReason`` says so. If the surrounding Swift task is cancelled, the download is cancelled.
    ///
    /// - Parameters:
    ///   - request: the request. With resume data, its URL must be that of the data.
    ///   - destination: where to write. With resume data, the same as before.
    ///   - data: the resume data of an earlier download.
    ///   - delegate: as for ``data(for:delegate:)``; it can be a ``DownloadDelegate``.
    /// - Throws: the reason why there is no file. ``LoadError/resumeData`` continues the download later.
    @discardableResult
    public func download(
        for request: Request, to destination: DownloadDestination, resuming data: ResumeData? = nil, delegate: (any LoadDelegate)? = nil
    ) async throws(LoadError) -> DownloadedFile {
        let (task, writer) = try makeDownload(request, destination, data, delegate, on: .background)
        if Task.isCancelled { task.cancel() } else { task.resume() }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in writer.whenEnded { continuation.resume(returning: $0) } }
        } onCancel: {
            task.cancel()
        }
        return try outcome.get()
    }

    /// Loads a file with several range requests at the same time. For servers that limit the rate of a connection.
    ///
    /// The server must send parts (206) and a strong validator, so that all parts are from one version of the file. If
    /// it sends the whole file instead, this one response is the download. The first request asks for 1 MiB. If there
    /// are several other requests, each asks for at least 1 MiB, so a small file needs only one or two requests.
    ///
    /// If a part fails, the others are cancelled. `LoadError.resumeData` has the bytes before the first gap, and
    /// continues the download with one request.
    ///
    /// - Parameters:
    ///   - request: a GET without `Range`.
    ///   - destination: where to write. A delegate is not asked for it.
    ///   - count: the largest number of requests at the same time, 1 to 16, in addition to the first one.
    ///   - delegate: receives the events of the task of each request, except the response and the data. The task of the
    ///     first request counts the bytes of all of them (``LoadTask/progress``), also after its own end.
    /// - Returns: the file. Its response is that of the first request, with the status and the size of the whole file.
    /// - Throws: as ``download(for:to:resuming:delegate:)``; ``LoadError/Code/badRequest`` for other requests or
    ///   counts.
    @discardableResult
    public func download(
        for request: Request, to destination: DownloadDestination, parallelRequests count: Int, delegate: (any LoadDelegate)? = nil
    ) async throws(LoadError) -> DownloadedFile {
        guard 1...16 ~= count else {
            throw LoadError(.badRequest, message: "a download has 1 to 16 parallel requests, and not \(count)")
        }
        guard request.method == .get, request.body == nil, request.fields[.range] == nil else {
            throw LoadError(.badRequest, message: "only a GET without a body and without Range can be downloaded in parts")
        }
        return try await ParallelDownload(request, to: destination, by: self, delegate).run(requests: count)
    }

    /// Does what ``download(for:to:resuming:delegate:)`` does, and calls `completion` once, on `queue`.
    @discardableResult
    public func download(
        _ request: Request, to destination: DownloadDestination, resuming data: ResumeData? = nil, delegate: (any LoadDelegate)? = nil,
        on queue: DeliveryQueue = .background, completion: @escaping @Sendable (Result<DownloadedFile, LoadError>) -> Void
    ) throws(LoadError) -> LoadTask {
        let (task, writer) = try makeDownload(request, destination, data, delegate, on: queue)
        writer.whenEnded(completion)
        task.resume()
        return task
    }

    /// Makes a task that loads into a file and reports to `delegate`. ``LoadTask/resume()`` starts it.
    ///
    /// - Parameters:
    ///   - delegate: receives the events, except the response and the data.
    ///   - queue: where the delegate is called and the file is written. On ``DeliveryQueue/immediate``, a slow disk
    ///     delays all loads of an event loop.
    /// - Throws: ``LoadError/Code/badRequest`` or ``LoadError/Code/ioFailed`` if the resume data can't be used.
    public func downloadTask(
        for request: Request, to destination: DownloadDestination, resuming data: ResumeData? = nil, delegate: any LoadDelegate,
        on queue: DeliveryQueue = .background
    ) throws(LoadError) -> LoadTask {
        try makeDownload(request, destination, data, delegate, on: queue).task
    }

    /// Does what ``download(for:to:resuming:delegate:)`` does, but blocks the calling thread. For programs that are not
    /// asynchronous.
    ///
    /// - Throws: also ``LoadError/Code/noResources`` on the thread of an event loop, which must not wait.
    @available(*, noasync, message: "this blocks the thread; await download(for:to:) instead")
    @discardableResult
    public func waitForDownload(
        for request: Request, to destination: DownloadDestination, resuming data: ResumeData? = nil, delegate: (any LoadDelegate)? = nil
    ) throws(LoadError) -> DownloadedFile {
        guard !NonBlockingThreads.includeCurrentThread else {
            throw LoadError(
                .noResources, message: "can't wait for \(request.url.shortDescription) on the thread of an event loop; use another thread")
        }
        let lock = ConditionLock(Result<DownloadedFile, LoadError>?.none)
        _ = try download(request, to: destination, resuming: data, delegate: delegate) { result in
            lock.withLockBroadcasting { $0 = result }
        }
        return try lock.wait { $0 }.get()
    }

    private func makeDownload(
        _ request: Request, _ destination: DownloadDestination, _ data: ResumeData?, _ delegate: (any LoadDelegate)?,
        on queue: DeliveryQueue
    ) throws(LoadError) -> (task: LoadTask, writer: DownloadWriter) {
        let delegate = delegate ?? delegateOfNewTasks
        var part: ResumedPart?
        if let data {
            guard request.url.withoutCredentials.withoutFragment == data.url.withoutFragment, request.method == .get, request.body == nil
            else {
                throw LoadError(
                    .badRequest,
                    message: "the resume data is for a GET of \(data.url.shortDescription), and not for \(request.url.shortDescription)")
            }
            part = try ResumedPart(data, to: destination)
        }
        var whole = request
        if !whole.fields.contains(.acceptEncoding) { whole.fields[.acceptEncoding] = "identity" }
        var rest = whole
        part?.requestRest(in: &rest)
        let writer = DownloadWriter(
            requestForResumeData(request), to: destination, resuming: part,
            restartReason: data != nil && part == nil ? "the file with the received bytes is gone" : nil, delegate: delegate)
        guard part != nil else { return (task(for: rest, delegate: writer, on: queue), writer) }
        let task = task(for: rest, delegate: writer, on: queue) { [whole] in writer.startsOver(after: $0) ? whole : nil }
        return (task, writer)
    }

    /// Returns the request without the fields that resume data must not contain: those of
    /// ``RedirectPolicy/originFields``, and those that the loader has added. ``ResumeData`` itself omits
    /// `Authorization` and similar fields.
    func requestForResumeData(_ request: Request) -> Request {
        var storable = request
        storable.fields = HTTPFields(
            request.fields.filter { field in
                !configuration.redirects.originFields.contains(field.name) && !configuration.defaultFields.contains { $0 == field }
            })
        return storable
    }
}

extension LoadTask {
    /// Cancels a download, and keeps the bytes that have arrived.
    ///
    /// A task that is not a download is cancelled, too, and `receive` is called with `nil`.
    ///
    /// - Parameter receive: called once, when the download has ended, on any thread. `nil` if the download is complete,
    ///   has no bytes, or can't be continued because the server has sent no strong validator.
    public func cancel(byProducingResumeData receive: @escaping @Sendable (ResumeData?) -> Void) {
        guard let writer = delegate as? DownloadWriter else {
            cancel()
            return receive(nil)
        }
        writer.keepPartialFile()
        writer.whenEnded { outcome in
            if case .failure(let error) = outcome { receive(error.resumeData) } else { receive(nil) }
        }
        cancel()
    }

    /// Does what ``cancel(byProducingResumeData:)`` does, and waits for the data.
    public func cancelByProducingResumeData() async -> ResumeData? {
        await withCheckedContinuation { continuation in
            cancel { continuation.resume(returning: $0) }
        }
    }
}
