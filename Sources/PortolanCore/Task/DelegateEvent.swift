// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// An event for a delegate, stored for a later call. It has its own copy of the bytes.
enum DelegateEvent {
    case response(Response)
    case data([UInt8])
    case interim(Response)
    /// The request is sent again after this response, which is not delivered.
    case resend(Response)
    case waitingForConnectivity
    case trailers(HTTPFields)
    case step(LoadStep)
    /// Bytes of the request's body were sent.
    case sent
    /// Bytes of the response's body were received. Another delegate receives the bytes themselves.
    case received
    case redirect(Request, Response, @Sendable (RedirectDecision) -> Void)
    case challenge(AuthenticationChallenge)
    case challengeCancelled(AuthenticationChallenge)
    case newBody(@Sendable (Body?) -> Void)
    case willCache(CacheableResponse, @Sendable (CacheableResponse?) -> Void)
    case nestedLoadBegan(LoadTask)
    case nestedLoadEnded(LoadTask, LoadError?)
    case end(LoadError?)

    /// The approximate memory in bytes that a queue needs for a piece of body, in addition to the piece's bytes.
    static let overhead = 64

    /// The bytes of memory that a piece of body occupies; 0 for other events.
    var size: Int {
        if case .data(let bytes) = self { bytes.count + Self.overhead } else { 0 }
    }

    /// Whether the delegate's return value decides how the load continues.
    var isDelivery: Bool {
        switch self {
        case .response, .data: true
        case .interim, .resend, .waitingForConnectivity, .trailers, .step, .sent, .received, .redirect, .challenge, .challengeCancelled,
            .newBody, .willCache,
            .nestedLoadBegan, .nestedLoadEnded, .end:
            false
        }
    }

    /// Whether the event is the beginning or the end of a nested load. Such events are never dropped, so that the
    /// delegate receives the end of each nested load that began.
    var concernsNestedLoad: Bool {
        switch self {
        case .nestedLoadBegan, .nestedLoadEnded: true
        case .response, .data, .interim, .resend, .waitingForConnectivity, .trailers, .step, .sent, .received, .redirect, .challenge,
            .challengeCancelled, .newBody,
            .willCache, .end:
            false
        }
    }

    /// Whether the event is delivered even while the task is suspended.
    var ignoresSuspension: Bool {
        if case .end(.some) = self { true } else { concernsNestedLoad }
    }

    /// Delivers the event to `delegate`.
    ///
    /// - Returns: the delegate's return value; `nil` if the event has none.
    func deliver(to delegate: any LoadDelegate, of task: LoadTask) -> Flow? {
        switch self {
        case .response(let response): return delegate.loadTask(task, didReceive: response)
        case .data(let bytes):
            let span = bytes.span
            return unsafe delegate.loadTask(task, didLoad: span.bytes)
        case .interim(let response): delegate.loadTask(task, didReceiveInterim: response)
        case .resend(let response): delegate.loadTask(task, willResendAfter: response)
        case .waitingForConnectivity: delegate.loadTaskIsWaitingForConnectivity(task)
        case .trailers(let fields): delegate.loadTask(task, didReceiveTrailers: fields)
        case .step(let step): delegate.loadTask(task, didReach: step)
        case .sent: delegate.loadTaskDidSend(task)
        case .received: delegate.loadTaskDidReceiveBytes(task)
        case .redirect(let request, let response, let decide):
            delegate.loadTask(task, willRedirectTo: request, response: response, decide: decide)
        case .challenge(let challenge): delegate.loadTask(task, didReceive: challenge)
        case .challengeCancelled(let challenge): delegate.loadTask(task, didCancel: challenge)
        case .newBody(let answer): delegate.loadTask(task, needsNewBody: answer)
        case .willCache(let response, let decide): delegate.loadTask(task, willCache: response, decide: decide)
        case .nestedLoadBegan(let nested): delegate.loadTask(task, didBeginNestedTask: nested)
        case .nestedLoadEnded(let nested, let error): delegate.loadTask(task, nestedTask: nested, didEndWith: error)
        case .end(let error): delegate.loadTask(task, didEndWith: error)
        }
        return nil
    }
}

/// The events that wait for a delegate, in order.
struct DelegateEventQueue {
    private var events: [DelegateEvent] = []
    /// The index of the first event that was not removed.
    private var firstIndex = 0
    /// Bytes of body in the queue, including the overhead of the pieces.
    private(set) var size = 0
    /// The number of responses and pieces of body in the queue.
    private(set) var deliveryCount = 0

    /// If at least `mergeThreshold` responses and pieces of body wait, small pieces are merged into pieces of at most
    /// `coalescedSize` bytes.
    static let (mergeThreshold, coalescedSize) = (64, 16 << 10)
    /// If more events wait, the load fails. Only a handler that ignores every pause reaches this limit.
    static let maximumCount = 16384

    var isEmpty: Bool { firstIndex == events.count }
    /// The number of waiting events.
    var count: Int { events.count - firstIndex }
    var isOverfull: Bool { count > Self.maximumCount }

    /// Whether the load's end is in the queue.
    var containsEnd: Bool {
        if case .end? = events.last { !isEmpty } else { false }
    }

    /// Appends an event, or merges it with the last one.
    ///
    /// - Parameter keptCount: if `event` is a failure, the number of waiting events that it does not drop; `nil` for
    ///   all. A cancellation always drops all events, except those about nested loads.
    /// - Returns: the dropped events. The caller must release them without a lock, because their release can call other
    ///   code: it answers a challenge, for example.
    mutating func append(_ event: DelegateEvent, keepingAtFailure keptCount: Int? = nil) -> [DelegateEvent] {
        var dropped: [DelegateEvent] = []
        if case .end(let error?) = event, let keptCount = error.code == .cancelled ? 0 : keptCount {
            let (before, after) = (events[firstIndex...].prefix(keptCount), events[firstIndex...].dropFirst(keptCount))
            dropped = after.filter { !$0.concernsNestedLoad }
            events = before + after.filter(\.concernsNestedLoad)
            firstIndex = 0
            size = before.reduce(0) { $0 + $1.size }
            deliveryCount = before.count(where: \.isDelivery)
        }
        if merge(event) { return dropped }
        if firstIndex > 64, firstIndex * 2 > events.count {
            events.removeFirst(firstIndex)
            firstIndex = 0
        }
        events.append(event)
        size += event.size
        if event.isDelivery { deliveryCount += 1 }
        return dropped
    }

    /// How a new event can be merged with the last waiting event, so that the delegate sees no difference.
    private enum MergeAction {
        case none, append([UInt8]), drop, removeLast
    }

    private func mergeAction(of event: DelegateEvent) -> MergeAction {
        guard !isEmpty, let last = events.last else { return .none }
        switch (last, event) {
        case (.sent, .sent), (.received, .received): return .drop
        case (.data(let before), .data(let bytes)):
            let fits = before.count + bytes.count <= Self.coalescedSize
            return fits && deliveryCount >= Self.mergeThreshold ? .append(bytes) : .none
        case (.challenge(let waiting), .challengeCancelled(let cancelled)): return waiting === cancelled ? .removeLast : .none
        default: return .none
        }
    }

    /// - Returns: `false` if `event` must be queued separately.
    private mutating func merge(_ event: DelegateEvent) -> Bool {
        switch mergeAction(of: event) {
        case .none: return false
        case .drop: break
        case .removeLast: events.removeLast()
        case .append(let bytes):
            // Removed from the array during the change, so that the bytes are not copied.
            guard case .data(var last)? = events.popLast() else { return false }
            last += bytes
            events.append(.data(last))
            size += bytes.count
        }
        return true
    }

    /// Removes and returns the first event; `nil` if there is none, or if the task is suspended and the event does not
    /// ignore the suspension.
    mutating func removeFirst(isSuspended: Bool) -> DelegateEvent? {
        guard firstIndex < events.count, !isSuspended || events[firstIndex].ignoresSuspension else { return nil }
        let event = events[firstIndex]
        events[firstIndex] = .sent
        firstIndex += 1
        if isEmpty {
            events.removeAll(keepingCapacity: true)
            firstIndex = 0
        }
        size -= event.size
        if event.isDelivery { deliveryCount -= 1 }
        return event
    }

    mutating func removeAll() -> [DelegateEvent] {
        guard !isEmpty else { return [] }
        defer { self = DelegateEventQueue() }
        return Array(events[firstIndex...])
    }
}
