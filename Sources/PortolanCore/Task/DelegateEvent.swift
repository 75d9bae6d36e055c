// SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Something that a delegate is told, kept for later: bytes are copied.
enum DelegateEvent {
    case response(Response)
    case data([UInt8])
    case interim(Response)
    /// The request is sent again after this response.
    case resend(Response)
    case trailers(HTTPFields)
    case step(LoadStep)
    case sent
    case redirect(Request, Response, @Sendable (RedirectDecision) -> Void)
    case challenge(AuthenticationChallenge)
    case challengeWithdrawn(AuthenticationChallenge)
    case newBody(@Sendable (Body?) -> Void)
    case innerBegan(LoadTask)
    case innerEnded(LoadTask, LoadError?)
    case end(LoadError?)

    /// What a piece of body costs in a queue beside its bytes, about.
    static let overhead = 64

    /// How many bytes of memory it keeps, where it is a piece of body.
    var size: Int {
        if case .data(let bytes) = self { bytes.count + Self.overhead } else { 0 }
    }

    /// Whether the delegate answers how to go on.
    var isDelivery: Bool {
        switch self {
        case .response, .data: true
        case .interim, .resend, .trailers, .step, .sent, .redirect, .challenge, .challengeWithdrawn, .newBody, .innerBegan, .innerEnded,
            .end:
            false
        }
    }

    /// Whether it tells of a load inside: then it is told in any case, so that each that began also ends.
    var isAboutInner: Bool {
        switch self {
        case .innerBegan, .innerEnded: true
        case .response, .data, .interim, .resend, .trailers, .step, .sent, .redirect, .challenge, .challengeWithdrawn, .newBody, .end: false
        }
    }

    /// Whether it comes to a delegate whose task is suspended, too.
    var ignoresSuspension: Bool {
        if case .end(.some) = self { true } else { isAboutInner }
    }

    /// Tells `delegate`.
    ///
    /// - Returns: its answer; `nil` where the event has none.
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
        case .redirect(let request, let response, let decide):
            delegate.loadTask(task, willRedirectTo: request, response: response, decide: decide)
        case .challenge(let challenge): delegate.loadTask(task, didReceive: challenge)
        case .challengeWithdrawn(let challenge): delegate.loadTask(task, didCancel: challenge)
        case .newBody(let answer): delegate.loadTask(task, needsNewBody: answer)
        case .innerBegan(let inner): delegate.loadTask(task, didBegin: inner)
        case .innerEnded(let inner, let error): delegate.loadTask(task, inner: inner, didEndWith: error)
        case .end(let error): delegate.loadTask(task, didEndWith: error)
        }
        return nil
    }
}

/// Events that wait for a delegate, in their order.
struct DelegateEventQueue {
    private var events: [DelegateEvent] = []
    /// The first event that was not taken.
    private var first = 0
    /// Bytes of body in it, and what their pieces cost.
    private(set) var size = 0
    /// Responses and pieces of body in it.
    private(set) var deliveries = 0

    /// Where more responses and pieces of body wait than these, small pieces are put together up to the size.
    static let (mostPieces, coalescedSize) = (64, 16 << 10)
    /// With more events than these waiting, a load is ended: only a handler that never stops has them.
    static let mostEvents = 16384

    var isEmpty: Bool { first == events.count }
    /// How many events wait.
    var count: Int { events.count - first }
    var isOverfull: Bool { count > Self.mostEvents }

    /// Whether the load's end waits here.
    var holdsEnd: Bool {
        if case .end? = events.last { !isEmpty } else { false }
    }

    /// - Parameter isLast: whether a failure drops what waits, whatever it is; being cancelled always does.
    /// - Returns: events that nobody will hear of: to be let go of when no lock is held, for that may answer them.
    mutating func put(_ event: DelegateEvent, droppingAtFailure isLast: Bool = false) -> [DelegateEvent] {
        var dropped: [DelegateEvent] = []
        if case .end(let error?) = event, isLast || error.code == .cancelled {
            let waiting = events[first...]
            dropped = waiting.filter { !$0.isAboutInner }
            events = waiting.filter(\.isAboutInner)
            (first, size, deliveries) = (0, 0, 0)
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

    /// What a new event does to the last one that waits, where nobody can tell the difference.
    private enum Merger {
        case none, append([UInt8]), drop, removeLast
    }

    private func merger(of event: DelegateEvent) -> Merger {
        guard !isEmpty, let last = events.last else { return .none }
        switch (last, event) {
        case (.sent, .sent): return .drop
        case (.data(let before), .data(let bytes)):
            let fits = before.count + bytes.count <= Self.coalescedSize
            return fits && deliveries >= Self.mostPieces ? .append(bytes) : .none
        case (.challenge(let asked), .challengeWithdrawn(let withdrawn)): return asked === withdrawn ? .removeLast : .none
        default: return .none
        }
    }

    /// - Returns: `false` where `event` is one of its own.
    private mutating func merge(_ event: DelegateEvent) -> Bool {
        switch merger(of: event) {
        case .none: return false
        case .drop: break
        case .removeLast: events.removeLast()
        case .append(let bytes):
            // Out of the array meanwhile, so that it is not copied.
            guard case .data(var last)? = events.popLast() else { return false }
            last += bytes
            events.append(.data(last))
            size += bytes.count
        }
        return true
    }

    /// The next event; of a suspended task only one that comes all the same.
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
