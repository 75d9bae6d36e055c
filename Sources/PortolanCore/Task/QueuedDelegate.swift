// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// Takes a load's events to a delegate on another queue, in order, and pauses the handler when the delegate is slow.
final class QueuedDelegate: EventHoldingDelegate {
    private enum Event {
        case response(Response)
        case data([UInt8])
        case interim(Response)
        case trailers(HTTPFields)
        case step(LoadStep)
        case sent
        case redirect(Request, Response, @Sendable (RedirectDecision) -> Void)
        case challenge(AuthenticationChallenge)
        case challengeWithdrawn(AuthenticationChallenge)
        case newBody(@Sendable (Body?) -> Void)
        case end(LoadError?)

        var size: Int {
            if case .data(let bytes) = self { bytes.count } else { 0 }
        }

        /// Whether it comes to a delegate that asked for a pause, too.
        var ignoresSuspension: Bool {
            if case .end(.some) = self { true } else { false }
        }
    }

    private struct State {
        var events: [Event] = []
        /// The first event that was not delivered.
        var first = 0
        var waiting = 0
        var isPaused = false
        var isDraining = false

        /// - Returns: events that nobody will hear of: to be let go of when no lock is held, for that may answer them.
        mutating func put(_ event: Event) -> [Event] {
            var dropped: [Event] = []
            if case .end(let error?) = event, error.code == .cancelled {
                swap(&dropped, &events)
                (first, waiting) = (0, 0)
            }
            if case .sent = event, case .sent? = events.last, first < events.count { return dropped }
            events.append(event)
            waiting += event.size
            return dropped
        }

        mutating func take(isSuspended: Bool) -> Event? {
            guard first < events.count, !isSuspended || events[first].ignoresSuspension else { return nil }
            let event = events[first]
            events[first] = .sent
            first += 1
            if first == events.count {
                events.removeAll(keepingCapacity: true)
                first = 0
            }
            waiting -= event.size
            return event
        }
    }

    private let delegate: any LoadDelegate
    private let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let limit: Int
    private let state = Mutex(State())

    init(_ delegate: any LoadDelegate, limit: Int, enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.delegate = delegate
        self.limit = max(0, limit)
        self.enqueue = enqueue
    }

    // MARK: The load's side

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow { put(.response(response), of: task) }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        put(.data([UInt8](copying: bytes)), of: task)
    }

    func loadTask(_ task: LoadTask, didReceiveInterim response: Response) { put(.interim(response), of: task) }
    func loadTask(_ task: LoadTask, didReceiveTrailers fields: HTTPFields) { put(.trailers(fields), of: task) }
    func loadTask(_ task: LoadTask, didReach step: LoadStep) { put(.step(step), of: task) }
    func loadTaskDidSend(_ task: LoadTask) { put(.sent, of: task) }
    func loadTask(
        _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
    ) {
        put(.redirect(request, response, decide), of: task)
    }
    func loadTask(_ task: LoadTask, didReceive challenge: AuthenticationChallenge) { put(.challenge(challenge), of: task) }
    func loadTask(_ task: LoadTask, didCancel challenge: AuthenticationChallenge) { put(.challengeWithdrawn(challenge), of: task) }
    func loadTask(_ task: LoadTask, needsNewBody answer: @escaping @Sendable (Body?) -> Void) { put(.newBody(answer), of: task) }
    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { put(.end(error), of: task) }

    @discardableResult
    private func put(_ event: Event, of task: LoadTask) -> Flow {
        let (flow, dropped) = state.withLock { state -> (Flow, [Event]) in
            let dropped = state.put(event)
            if state.waiting > limit { state.isPaused = true }
            return (state.isPaused ? .pause : .keepGoing, dropped)
        }
        withExtendedLifetime(dropped) { scheduleDrain(task) }
        return flow
    }

    // MARK: The queue's side

    private func scheduleDrain(_ task: LoadTask) {
        let schedules = state.withLock { state in
            defer { state.isDraining = true }
            return !state.isDraining
        }
        if schedules { enqueue { [self] in drain(task) } }
    }

    private func drain(_ task: LoadTask) {
        while true {
            let isSuspended = task.isSuspended
            let (event, resumes) = state.withLock { state -> (Event?, Bool) in
                let event = state.take(isSuspended: isSuspended)
                if event == nil { state.isDraining = false }
                guard state.isPaused, state.waiting <= limit / 2 else { return (event, false) }
                state.isPaused = false
                return (event, true)
            }
            if resumes { task.readMore() }
            guard let event else {
                if isSuspended, !task.isSuspended { scheduleDrain(task) }
                break
            }
            deliver(event, of: task)
        }
    }

    private func deliver(_ event: Event, of task: LoadTask) {
        let resumeCount = task.resumeCount
        switch event {
        case .response(let response): obey(delegate.loadTask(task, didReceive: response), task, resumeCount)
        case .data(let bytes):
            let span = bytes.span
            obey(unsafe delegate.loadTask(task, didLoad: span.bytes), task, resumeCount)
        case .interim(let response): delegate.loadTask(task, didReceiveInterim: response)
        case .trailers(let fields): delegate.loadTask(task, didReceiveTrailers: fields)
        case .step(let step): delegate.loadTask(task, didReach: step)
        case .sent: delegate.loadTaskDidSend(task)
        case .redirect(let request, let response, let decide):
            delegate.loadTask(task, willRedirectTo: request, response: response, decide: decide)
        case .challenge(let challenge): delegate.loadTask(task, didReceive: challenge)
        case .challengeWithdrawn(let challenge): delegate.loadTask(task, didCancel: challenge)
        case .newBody(let answer): delegate.loadTask(task, needsNewBody: answer)
        case .end(let error): delegate.loadTask(task, didEndWith: error)
        }
    }

    private func obey(_ flow: Flow, _ task: LoadTask, _ resumeCount: Int) {
        switch flow {
        case .keepGoing: break
        case .pause: task.suspend(unlessResumedSince: resumeCount)
        case .stopped: task.cancel()
        }
    }

    func taskWasResumed(_ task: LoadTask) { scheduleDrain(task) }
}
