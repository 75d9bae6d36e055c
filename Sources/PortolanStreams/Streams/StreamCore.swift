// SPDX-License-Identifier: Apache-2.0

import PortolanCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What input and output streams share: the status, who uses the stream, and its events.
///
/// A thread reads or writes between ``begin()`` and ``end(_:)``. Only one thread does so at a time.
final class StreamCore: Sendable {
    private let state = ConditionLock(StreamState())
    private let endpoint: any StreamEndpoint
    /// Asks the endpoint whether a read or write would move a byte.
    private let query: @Sendable (_ whenReady: @escaping @Sendable () -> Void) -> StreamTransfer
    private let readyEvent: StreamEvent
    /// Releases the endpoint. The argument says whether all bytes were written.
    private let closeEndpoint: @Sendable (_ isComplete: Bool) -> LoadError?

    /// - Parameter readyEvent: reported when `query` returns ``StreamTransfer/moved``.
    init(
        _ endpoint: any StreamEndpoint, readyEvent: StreamEvent,
        query: @escaping @Sendable (@escaping @Sendable () -> Void) -> StreamTransfer,
        close: @escaping @Sendable (_ isComplete: Bool) -> LoadError?
    ) {
        (self.endpoint, self.readyEvent, self.query, closeEndpoint) = (endpoint, readyEvent, query, close)
    }

    deinit { if !state.withLock({ $0.isClosed }) { _ = closeEndpoint(false) } }

    var status: StreamStatus { state.withLock { $0.status(during: readyEvent == .bytesAvailable ? .reading : .writing) } }
    var error: LoadError? { state.withLock { $0.error } }

    private static var thread: UInt { UInt(pthread_self()) }

    // MARK: Opening and closing

    /// Does nothing if the stream was opened before.
    func open() {
        let thread = Self.thread
        guard state.wait(for: { $0.beginOpening(on: thread) }) else { return }
        endpoint.open { [weak self] error in self?.didOpen(error.map { .failure($0) } ?? .success(())) }
        let (waiter, closing) = state.withLockBroadcasting { $0.endOpeningCall() }
        waiter?()
        close(closing)
        reportEvents()
    }

    private func didOpen(_ result: Result<Void, LoadError>) {
        state.withLockBroadcasting { $0.didOpen(result) }?()
        reportEvents()
    }

    /// - Parameter isComplete: whether the program has written all its bytes.
    func close(isComplete: Bool = true) {
        let (registration, waiter, closing) = state.withLockBroadcasting { $0.close(isComplete: isComplete) }
        waiter?()
        close(closing)
        withExtendedLifetime(registration) {}
    }

    private func close(_ closing: StreamState.Closing?) {
        guard let closing, let error = closeEndpoint(closing.isComplete) else { return }
        state.withLock { $0.closeError = error }
    }

    // MARK: Reading and writing

    /// The reason why the stream can't be read or written; `nil` if it is open.
    var refusal: LoadError? { state.withLock { $0.refusal } }

    /// Asks to read or write. After ``StreamState/Permission/run``, call ``end(_:)``.
    func begin() throws(LoadError) -> StreamState.Permission {
        let thread = Self.thread
        let permission = state.wait { $0.begin(query: nil, on: thread) }
        if case .failed(let error) = permission { throw error }
        return permission
    }

    /// Called when the endpoint is ready again.
    var whenReady: @Sendable () -> Void {
        { [weak self] in self?.becameReady() }
    }

    /// Ends a read or write of the program.
    ///
    /// - Parameter isResponse: `false` if the program has used no bytes.
    /// - Returns: `false` if the endpoint became ready in the meantime. Then call ``begin()`` again.
    func end(_ transfer: StreamTransfer, isResponse: Bool = true) throws(LoadError) -> Bool {
        let isFinal = endCall(transfer, isResponse: isResponse)
        reportEvents()
        if case .failed(let error) = transfer { throw error }
        return isFinal
    }

    private func endCall(_ transfer: StreamTransfer, isResponse: Bool) -> Bool {
        let (waiter, closing, isFinal) = state.withLockBroadcasting { $0.end(transfer, isResponse: isResponse) }
        waiter?()
        close(closing)
        return isFinal
    }

    private func becameReady() {
        state.withLockBroadcasting { $0.becameReady() }?()
        reportEvents()
    }

    /// - Returns: `nil` if the endpoint can't be asked now.
    private func askEndpoint() -> StreamTransfer? {
        let thread = Self.thread
        while case .run = state.wait(for: { $0.begin(query: thread, on: thread) }) {
            let transfer = query(whenReady)
            // A full buffer is an error of the next write, and not of a query.
            let isFull = if case .failed(let error) = transfer { error.isStreamFull } else { false }
            if endCall(isFull ? .moved : transfer, isResponse: false) { return transfer }
        }
        return nil
    }

    /// Whether a read or write would return immediately with bytes. `false` while another thread reads or writes.
    var isReady: Bool {
        let transfer = askEndpoint()
        // The job of a scheduled stream may have ended because the endpoint was in use.
        reportEvents()
        if case .moved = transfer { return true }
        return false
    }

    /// Prepares the endpoint for a change of a property, such as its offset.
    ///
    /// - Parameter change: returns whether the property was changed. Called while no other thread reads or writes.
    func withExclusiveAccess(_ change: () -> Bool) throws(LoadError) -> Bool {
        let thread = Self.thread
        if let error = state.wait(for: { $0.beginChange(on: thread) }) { throw error }
        let isChanged = change()
        let (waiter, closing) = state.withLockBroadcasting { $0.endChange(isChanged) }
        waiter?()
        close(closing)
        reportEvents()
        return isChanged
    }

    // MARK: Waiting

    /// Makes the calling thread wait until a read or write can succeed or fail.
    func waitUntilReady() throws(LoadError) {
        guard !NonBlockingThreads.includeCurrentThread else {
            throw LoadError(
                .noResources, message: "the stream would block the thread of an event loop; wait for its events on another thread")
        }
        if let error = state.withLock({ $0.beginPolling() }) { throw error }
        state.wait { $0.endPolling() }
    }

    /// Makes the calling task wait until a read or write can succeed or fail. Closes the stream if the task is
    /// cancelled.
    func waitUntilReady() async throws(LoadError) {
        let error = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<LoadError?, Never>) in
                switch addWaiter({ continuation.resume(returning: nil) }) {
                case .waits: break
                case .isReady: continuation.resume(returning: nil)
                case .failed(let error): continuation.resume(returning: error)
                }
            }
        } onCancel: {
            close(isComplete: false)
        }
        try closeIfTaskIsCancelled()
        if let error { throw error }
    }

    func closeIfTaskIsCancelled() throws(LoadError) {
        guard Task.isCancelled else { return }
        close(isComplete: false)
        throw LoadError(.cancelled, message: "the task that uses the stream was cancelled")
    }

    /// Calls `waiter` once, when a read or write can succeed or fail, unless the result is not `waits`.
    func addWaiter(_ waiter: @escaping @Sendable () -> Void) -> StreamState.Wait { state.withLock { $0.addWaiter(waiter) } }

    func removeWaiter() { _ = state.withLock { $0.removeWaiter() } }

    /// Whether a thread or a task waits.
    var isWaitedFor: Bool { state.withLock { $0.isWaitedFor } }

    var isOnDisk: Bool { endpoint.waitsForDisk }

    // MARK: Events

    func schedule(on queue: DeliveryQueue, _ handler: @escaping @Sendable (StreamEvent) -> Void) throws(LoadError) {
        let earlier = try state.withLock { $0.schedule(on: queue, handler) }.get()
        reportEvents()
        withExtendedLifetime(earlier) {}
    }

    func unschedule() { _ = state.withLock { $0.unschedule() } }

    /// Starts a job on the queue, if the stream is scheduled and has no job yet.
    private func reportEvents() {
        if let registration = state.withLock({ $0.startJob() }) { run(registration) }
    }

    private func run(_ registration: StreamState.Registration) {
        if let enqueue = registration.queue.enqueue {
            enqueue { [weak self] in self?.reportEvent(registration) }
        } else {
            reportEvent(registration)
        }
    }

    /// Reports one event, so that other jobs of the queue have their turn, and starts the next job.
    private func reportEvent(_ registration: StreamState.Registration) {
        var registration = registration
        while true {
            let event = nextEvent(registration)
            if let event { registration.handler(event) }
            switch state.withLock({ $0.endJob(registration, hasReported: event != nil) }) {
            case .end: return
            case .again: break
            case .otherRegistration:
                guard let other = state.withLock({ $0.startJob() }) else { return }
                registration = other
            }
            if registration.queue.enqueue != nil { return run(registration) }
        }
    }

    private func nextEvent(_ registration: StreamState.Registration) -> StreamEvent? {
        while true {
            switch state.withLock({ $0.nextEvent(registration) }) {
            case .report(let event): return event
            case .none: return nil
            case .query:
                switch askEndpoint() {
                case .moved: return state.withLock { $0.beginReporting(registration) } ? readyEvent : nil
                case .failed(let error) where error.isStreamFull:
                    state.withLock { $0.fail(error) }
                case .wait, .end, .failed: break
                // The read or write of another thread reports the events when it ends.
                case nil: return nil
                }
            }
        }
    }
}

extension LoadError {
    fileprivate var isStreamFull: Bool { code == .streamFull && domain == Self.streamDomain }
}
