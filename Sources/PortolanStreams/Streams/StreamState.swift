// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// The result of one attempt to read or write.
enum StreamTransfer: Sendable {
    /// Bytes were moved, at least one. For a query: would be moved.
    case moved
    case wait
    case end
    case failed(LoadError)
}

/// The state of a stream. It decides, and ``StreamCore`` acts after it has released the lock.
///
/// Functions return the closures that they remove, because releasing a closure can call the program.
struct StreamState {
    private enum Phase {
        case notOpen, opening, open, atEnd
        case failed(LoadError)
        case closed
    }

    /// A call of the endpoint. There is one at a time, and while it runs, the endpoint is not closed.
    private enum Call {
        case open, transfer
        /// Asks whether bytes would be moved, or changes a property. It ends soon, so other calls wait for its end.
        case query(thread: UInt)
    }

    /// A handler of events.
    struct Registration: Sendable {
        let number: Int
        let queue: DeliveryQueue
        let handler: @Sendable (StreamEvent) -> Void
    }

    typealias Waiter = @Sendable () -> Void

    private var phase = Phase.notOpen
    private var hasOpened = false
    /// Set when closing failed.
    var closeError: LoadError?
    private var call: Call?
    /// The result of opening, if it came during the call of `open`.
    private var earlyOpening: Result<Void, LoadError>?
    /// Whether the endpoint has returned `wait`, and has not called `whenReady` yet.
    private var isWaiting = false
    /// Whether the endpoint has called `whenReady` during the current call.
    private var isReadyEarly = false
    private var pendingClosing: Closing?

    private var isPolled = false
    private var waiter: Waiter?

    private(set) var registration: Registration?
    private var registrationCount = 0
    /// The number of the registration that has a job on its queue.
    private var jobNumber: Int?
    /// Whether something has happened since the job began.
    private var mustRunAgain = false
    /// Whether a handler is being called.
    private var isReporting = false
    private var isOpenReported = false
    private var isReadyReported = false
    private var isEndReported = false

    var isClosed: Bool { if case .closed = phase { true } else { false } }

    var error: LoadError? { if case .failed(let error) = phase { error } else { closeError } }

    func status(during transfer: StreamStatus) -> StreamStatus {
        switch phase {
        case .notOpen: .notOpen
        case .opening: .opening
        case .open: if case .transfer = call { transfer } else { .open }
        case .atEnd: .atEnd
        case .failed: .error
        case .closed: .closed
        }
    }

    // MARK: Opening and closing

    /// - Returns: `false` if the stream was opened before; `nil` if the thread has to wait until a query has ended.
    mutating func beginOpening(on thread: UInt) -> Bool? {
        guard case .notOpen = phase else { return false }
        if let call {
            if case .query(thread) = call { return false }
            return nil
        }
        (phase, call) = (.opening, .open)
        return true
    }

    mutating func endOpeningCall() -> (Waiter?, Closing?) {
        call = nil
        let result = earlyOpening.take()
        return (result.flatMap { finishOpening($0) }, pendingClosing.take())
    }

    /// - Returns: the waiter to call.
    mutating func didOpen(_ result: Result<Void, LoadError>) -> Waiter? {
        if case .open = call {
            earlyOpening = result
            return nil
        }
        return finishOpening(result)
    }

    private mutating func finishOpening(_ result: Result<Void, LoadError>) -> Waiter? {
        guard case .opening = phase else { return nil }
        switch result {
        case .success: (phase, hasOpened) = (.open, true)
        case .failure(let error): phase = .failed(error)
        }
        return waiter.take()
    }

    /// How to close the endpoint.
    struct Closing {
        /// Whether the program has written all its bytes.
        let isComplete: Bool
    }

    /// - Returns: what to release and to call, and how to close the endpoint now; `nil` if it is closed later, or was
    ///   before.
    mutating func close(isComplete: Bool) -> (Registration?, Waiter?, Closing?) {
        var isComplete = isComplete
        switch phase {
        case .closed: return (nil, nil, nil)
        case .failed(let error): (isComplete, closeError) = (false, error)
        case .notOpen, .opening, .open, .atEnd: break
        }
        phase = .closed
        let closing = Closing(isComplete: isComplete)
        if call != nil { pendingClosing = closing }
        return (registration.take(), waiter.take(), call == nil ? closing : nil)
    }

    // MARK: Reading and writing

    enum Permission {
        case run
        /// Wait first.
        case wait
        case end
        case failed(LoadError)
    }

    private static let closedError = LoadError.stream(.streamNotOpen, "the stream is closed")
    private static let sharedUseError = LoadError.stream(.streamInUse, "another thread reads or writes the stream")

    /// The reason why the stream can't be read or written; `nil` if it is open.
    var refusal: LoadError? {
        switch phase {
        case .notOpen: .stream(.streamNotOpen, "the stream is not open; call open() first")
        case .closed: Self.closedError
        case .failed(let error): error
        case .opening, .open, .atEnd: nil
        }
    }

    /// - Parameter query: the calling thread, if the call is a query.
    /// - Returns: `nil` if the thread has to wait until a query has ended.
    mutating func begin(query: UInt?, on thread: UInt) -> Permission? {
        if let refusal { return .failed(refusal) }
        switch phase {
        case .opening: return .wait
        case .atEnd: return .end
        case .notOpen, .closed, .failed, .open: break
        }
        switch call {
        case .query(thread), .transfer, .open: return .failed(Self.sharedUseError)
        case .query: return nil
        case nil: break
        }
        guard !isWaiting else { return .wait }
        (call, isReadyEarly) = (query.map { .query(thread: $0) } ?? .transfer, false)
        return .run
    }

    /// - Parameter isResponse: whether the program has responded to the event that bytes or space are available.
    /// - Returns: the waiter to call, how to close the endpoint if the stream was closed in the meantime, and `false`
    ///   if the endpoint has become ready in the meantime.
    mutating func end(_ transfer: StreamTransfer, isResponse: Bool) -> (Waiter?, Closing?, isFinal: Bool) {
        if isResponse { isReadyReported = false }
        call = nil
        var isFinal = true
        switch (transfer, phase) {
        case (.wait, .open):
            isFinal = !isReadyEarly
            isWaiting = !isReadyEarly
        case (.end, .open): phase = .atEnd
        case (.failed(let error), .open): phase = .failed(error)
        default: break
        }
        return (isBlocked ? nil : waiter.take(), pendingClosing.take(), isFinal)
    }

    mutating func fail(_ error: LoadError) { if case .open = phase { phase = .failed(error) } }

    /// - Returns: the waiter to call.
    mutating func becameReady() -> Waiter? {
        guard call == nil else {
            isReadyEarly = true
            return nil
        }
        isWaiting = false
        return waiter.take()
    }

    /// - Returns: the reason why nothing can be changed now, in `.some(nil)` for none; `nil` if the thread has to wait
    ///   until a query has ended.
    mutating func beginChange(on thread: UInt) -> LoadError?? {
        switch phase {
        case .failed(let error): return .some(error)
        case .closed: return .some(Self.closedError)
        case .notOpen, .opening, .open, .atEnd: break
        }
        switch call {
        case .query(thread), .transfer, .open: return .some(Self.sharedUseError)
        case .query: return nil
        case nil: break
        }
        (call, isReadyEarly) = (.query(thread: thread), false)
        return .some(nil)
    }

    mutating func endChange(_ isChanged: Bool) -> (Waiter?, Closing?) {
        call = nil
        if isChanged || isReadyEarly { isWaiting = false }
        if isChanged {
            (isReadyReported, isEndReported) = (false, false)
            if case .atEnd = phase { phase = .open }
        }
        return (isBlocked ? nil : waiter.take(), pendingClosing.take())
    }

    // MARK: Waiting

    /// Whether a read or write would have to wait.
    private var isBlocked: Bool {
        switch phase {
        case .opening: true
        case .open: isWaiting
        case .notOpen, .atEnd, .failed, .closed: false
        }
    }

    /// Whether a thread or a task waits.
    var isWaitedFor: Bool { isBlocked && (isPolled || waiter != nil) }

    private var useConflict: LoadError? {
        if registration != nil {
            return .stream(
                .streamInUse, "the stream reports events, so no call may wait; wait for the next event, or call unschedule() before")
        }
        if isPolled { return .stream(.streamInUse, "another thread already waits for the stream") }
        if waiter != nil { return .stream(.streamInUse, "a task already waits for the stream") }
        return nil
    }

    mutating func beginPolling() -> LoadError? {
        if let useConflict { return useConflict }
        isPolled = true
        return nil
    }

    /// - Returns: `nil` if the thread has to wait.
    mutating func endPolling() -> Void? {
        guard !isBlocked else { return nil }
        isPolled = false
        return ()
    }

    enum Wait {
        case waits, isReady
        case failed(LoadError)
    }

    mutating func addWaiter(_ waiter: @escaping Waiter) -> Wait {
        if let useConflict { return .failed(useConflict) }
        guard isBlocked else { return .isReady }
        self.waiter = waiter
        return .waits
    }

    mutating func removeWaiter() -> Waiter? { waiter.take() }

    // MARK: Events

    /// - Returns: the earlier registration, or an error.
    mutating func schedule(on queue: DeliveryQueue, _ handler: @escaping @Sendable (StreamEvent) -> Void) -> Result<
        Registration?, LoadError
    > {
        if case .closed = phase { return .failure(Self.closedError) }
        let earlier = registration.take()
        if let useConflict {
            registration = earlier
            return .failure(useConflict)
        }
        registrationCount += 1
        registration = Registration(number: registrationCount, queue: queue, handler: handler)
        (jobNumber, mustRunAgain) = (nil, false)
        // An earlier handler may not have responded.
        (isReadyReported, isEndReported) = (false, false)
        return .success(earlier)
    }

    mutating func unschedule() -> Registration? { registration.take() }

    /// - Returns: the registration whose queue gets a job now.
    mutating func startJob() -> Registration? {
        guard let registration else { return nil }
        guard jobNumber != registration.number else {
            mustRunAgain = true
            return nil
        }
        jobNumber = registration.number
        return registration
    }

    enum NextEvent {
        case report(StreamEvent)
        /// The endpoint knows whether there is an event.
        case query
        case none
    }

    mutating func nextEvent(_ registration: Registration) -> NextEvent {
        guard self.registration?.number == registration.number else { return .none }
        mustRunAgain = false
        // The job that reports an event to an earlier handler starts a job for this one afterwards.
        guard !isReporting else { return .none }
        if hasOpened, !isOpenReported {
            (isOpenReported, isReporting) = (true, true)
            return .report(.openCompleted)
        }
        switch phase {
        case .atEnd where !isEndReported:
            (isEndReported, isReporting) = (true, true)
            return .report(.endEncountered)
        case .failed(let error) where !isEndReported:
            (isEndReported, isReporting) = (true, true)
            return .report(.errorOccurred(error))
        case .open where !isReadyReported && !isWaiting: return .query
        case .notOpen, .opening, .open, .atEnd, .failed, .closed: return .none
        }
    }

    /// Begins to report that bytes or space are available, unless the stream was unscheduled in the meantime.
    mutating func beginReporting(_ registration: Registration) -> Bool {
        guard self.registration?.number == registration.number, !isReporting, !isReadyReported else { return false }
        (isReadyReported, isReporting) = (true, true)
        return true
    }

    enum JobEnd {
        case end, again
        /// Another handler was scheduled in the meantime.
        case otherRegistration
    }

    mutating func endJob(_ registration: Registration, hasReported: Bool) -> JobEnd {
        if hasReported { isReporting = false }
        guard let current = self.registration else { return .end }
        guard current.number == registration.number else { return .otherRegistration }
        // After the last event no job follows, because it would keep the stream on a run loop that runs no more.
        guard !mustRunAgain, !hasReported || isEndReported else { return .again }
        jobNumber = nil
        return .end
    }
}
