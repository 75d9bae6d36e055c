// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

extension ByteChunks {
    /// Writes the body to a file: the load becomes a download after its response is known.
    ///
    ///     let (bytes, response) = try await loader.bytes(for: request)
    ///     if response.mimeType?.essence == "text/html" { return try await bytes.collect() }
    ///     let file = try await bytes.download(for: response, to: .folder("files"))
    ///
    /// The file is written as by ``Loader/download(for:to:resuming:delegate:)``, and gets its final name only when it
    /// is complete. The delegate of the load is not asked for the destination. If the surrounding Swift task is
    /// cancelled, the download is cancelled.
    ///
    /// If the body was decoded (`Content-Encoding`), the download can't be continued after a failure.
    ///
    /// - Parameters:
    ///   - response: the response that came with these chunks.
    ///   - destination: where to write.
    /// - Throws: the reason why there is no file. `LoadError.resumeData` continues the download later.
    ///   `LoadError.Code.badRequest` if a part of the body was read before, if another download has it, and for the
    ///   several bodies of a multipart load.
    @discardableResult
    public func download(for response: Response, to destination: DownloadDestination) async throws(LoadError) -> DownloadedFile {
        try await download(for: response, to: destination, requestedBy: task.originalRequest)
    }

    /// - Parameter request: the request with which the download can be continued.
    func download(
        for response: Response, to destination: DownloadDestination, requestedBy request: Request
    ) async throws(LoadError) -> DownloadedFile {
        guard !response.isBodyPart else {
            throw LoadError(.badRequest, message: "the load has several bodies (\(response.url.shortDescription)); read its pieces")
        }
        guard reserveUnreadBody() else {
            throw LoadError(.badRequest, message: "a part of the body was read before; call download(for:to:) before you read it")
        }
        let task = task
        let writer = DownloadWriter(
            task.loader.requestForResumeData(request), to: destination, resuming: nil, restartReason: nil, delegate: nil)
        var failure: LoadError?
        do throws(LoadError) {
            var flow = await onDeliveryThread { writer.loadTask(task, didReceive: response) }
            var iterator = makeAsyncIterator()
            while flow == .keepGoing, let piece = try await iterator.next() {
                flow = await onDeliveryThread { unsafe writer.loadTask(task, didLoad: piece.span.bytes) }
            }
            // The writer has recorded the error.
            if flow != .keepGoing { task.cancel() }
        } catch {
            failure = error
        }
        let outcome = await onDeliveryThread { [failure] in
            writer.loadTask(task, didEndWith: failure)
            return writer.endedOutcome
        }
        return try outcome.get()
    }
}

/// Runs work that may wait for a disk, on a thread where that delays no other Swift task.
func onDeliveryThread<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        DeliveryThreads.shared.run { continuation.resume(returning: work()) }
    }
}
