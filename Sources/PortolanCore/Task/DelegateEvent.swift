// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// An event for a delegate, buffered for later. Bytes are copied.
enum DelegateEvent {
    case response(Response)
    case data([UInt8])
    case interim(Response)
    /// The request is sent again after this response.
    case resend(Response)
    case trailers(HTTPFields)
    case step(LoadStep)
    case sent
    case received
    case redirect(Request, Response, @Sendable (RedirectDecision) -> Void)
    case challenge(AuthenticationChallenge)
    case challengeWithdrawn(AuthenticationChallenge)
    case newBody(@Sendable (Body?) -> Void)
    case innerBegan(LoadTask)
    case innerEnded(LoadTask, LoadError?)
    case end(LoadError?)

    /// The approximate cost in bytes of a piece of body in a queue, in addition to its own bytes.
    static let overhead = 64

    /// The bytes of memory that a piece of body occupies; 0 for other events.
    var size: Int {
        if case .data(let bytes) = self { bytes.count + Self.overhead } else { 0 }
    }

    /// Whether the delegate's return value decides how the load continues.
    var isDelivery: Bool {
        switch self {
        case .response, .data: true
        case .interim, .resend, .trailers, .step, .sent, .received, .redirect, .challenge, .challengeWithdrawn, .newBody, .innerBegan,
            .innerEnded, .end:
            false
        }
    }

    /// Whether the event concerns a nested load. Such events are always delivered, so that each nested load that began
    /// also ends.
    var isAboutInner: Bool {
        switch self {
        case .innerBegan, .innerEnded: true
        case .response, .data, .interim, .resend, .trailers, .step, .sent, .received, .redirect, .challenge, .challengeWithdrawn, .newBody,
            .end:
            false
        }
    }

    /// Whether the event is delivered even while the task is suspended.
    var ignoresSuspension: Bool {
        if case .end(.some) = self { true } else { isAboutInner }
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
        case .trailers(let fields): delegate.loadTask(task, didReceiveTrailers: fields)
        case .step(let step): delegate.loadTask(task, didReach: step)
        case .sent: delegate.loadTaskDidSend(task)
        case .received: delegate.loadTaskDidReceiveBytes(task)
        case .redirect(let request, let response, let decide):
            delegate.loadTask(task, willRedirectTo: request, response: response, decide: decide)
        case .challenge(let challenge): delegate.loadTask(task, didReceive: challenge)
        case .challengeWithdrawn(let challenge): delegate.loadTask(task, didCancel: challenge)
        case .newBody(let answer): delegate.loadTask(task, needsNewBody: answer)
        case .innerBegan(let inner): delegate.loadTask(task, didBeginNestedTask: inner)
        case .innerEnded(let inner, let error): delegate.loadTask(task, nestedTask: inner, didEndWith: error)
        case .end(let error): delegate.loadTask(task, didEndWith: error)
        }
        return nil
    }
}

/// Events that wait for a delegate, in order.
struct DelegateEventQueue {
    private var events: [DelegateEvent] = []
    /// The index of the first event that was not taken.
    private var first = 0
    /// Bytes of body in the queue, including the overhead of the pieces.
    private(set) var size = 0
    /// The number of responses and pieces of body in the queue.
    private(set) var deliveries = 0

    /// If at least `mostPieces` responses and pieces of body wait, small pieces are merged up to `coalescedSize` bytes.
    static let (mostPieces, coalescedSize) = (64, 16 << 10)
    /// If more events wait, the load is ended. Only a handler that never stops reaches this limit.
    static let mostEvents = 16384

    var isEmpty: Bool { first == events.count }
    /// The number of waiting events.
    var count: Int { events.count - first }
    var isOverfull: Bool { count > Self.mostEvents }

    /// Whether the load's end is in the queue.
    var holdsEnd: Bool {
        if case .end? = events.last { !isEmpty } else { false }
    }

    /// - Parameter kept: the number of waiting events that a failure does not drop; `nil` if it drops none. A
    ///   cancellation always drops all.
    /// - Returns: events that nothing will deliver. They must be released without a lock, because their release may
    ///   answer them.
    mutating func put(_ event: DelegateEvent, keepingAtFailure kept: Int? = nil) -> [DelegateEvent] {
        var dropped: [DelegateEvent] = []
        if case .end(let error?) = event, let kept = error.code == .cancelled ? 0 : kept {
            let (before, after) = (events[first...].prefix(kept), events[first...].dropFirst(kept))
            dropped = after.filter { !$0.isAboutInner }
            events = before + after.filter(\.isAboutInner)
            first = 0
            size = before.reduce(0) { $0 + $1.size }
            deliveries = before.count(where: \.isDelivery)
        }
        if merge(event) { return dropped }
        if first > 64, first * 2 > events.count {
            events.removeFirst(first)
            first = 0
        }
        events.append(event)
        size += event.size
        if event.isDelivery { deliveries += 1 }
        return dropped
    }

    /// How a new event changes the last waiting one, if the delegate cannot notice the difference.
    private enum Merger {
        case none, append([UInt8]), drop, removeLast
    }

    private func merger(of event: DelegateEvent) -> Merger {
        guard !isEmpty, let last = events.last else { return .none }
        switch (last, event) {
        case (.sent, .sent), (.received, .received): return .drop
        case (.data(let before), .data(let bytes)):
            let fits = before.count + bytes.count <= Self.coalescedSize
            return fits && deliveries >= Self.mostPieces ? .append(bytes) : .none
        case (.challenge(let asked), .challengeWithdrawn(let withdrawn)): return asked === withdrawn ? .removeLast : .none
        default: return .none
        }
    }

    /// - Returns: `false` if `event` must be queued separately.
    private mutating func merge(_ event: DelegateEvent) -> Bool {
        switch merger(of: event) {
        case .none: return false
        case .drop: break
        case .removeLast: events.removeLast()
        case .append(let bytes):
            // Removed from the array meanwhile, so that the bytes are not copied.
            guard case .data(var last)? = events.popLast() else { return false }
            last += bytes
            events.append(.data(last))
            size += bytes.count
        }
        return true
    }

    /// Returns the next event. For a suspended task, only an event that ignores the suspension.
    mutating func take(isSuspended: Bool) -> DelegateEvent? {
        guard first < events.count, !isSuspended || events[first].ignoresSuspension else { return nil }
        let event = events[first]
        events[first] = .sent
        first += 1
        if isEmpty {
            events.removeAll(keepingCapacity: true)
            first = 0
        }
        size -= event.size
        if event.isDelivery { deliveries -= 1 }
        return event
    }

    mutating func removeAll() -> [DelegateEvent] {
        guard !isEmpty else { return [] }
        defer { self = DelegateEventQueue() }
        return Array(events[first...])
    }
}
