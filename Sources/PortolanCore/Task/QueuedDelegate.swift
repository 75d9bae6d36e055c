// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Synchronization

/// Delivers a load's events to a delegate on another queue, in order, and pauses the handler if the delegate is slow.
final class QueuedDelegate: EventHoldingDelegate {
    private struct State {
        var events = DelegateEventQueue()
        var isPaused = false
        var isDraining = false
    }

    private let delegate: any LoadDelegate
    private let enqueue: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let limit: Int
    /// Whether responses and bytes bypass the queue, because `delegate` consumes them and is not a caller's.
    private let takesBytesAtOnce: Bool
    private let state = Mutex(State())

    init(
        _ delegate: any LoadDelegate, limit: Int, takesBytesAtOnce: Bool = false,
        enqueue: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.delegate = delegate
        self.limit = max(0, limit)
        self.takesBytesAtOnce = takesBytesAtOnce
        self.enqueue = enqueue
    }

    // MARK: The load's side

    func loadTask(_ task: LoadTask, didReceive response: Response) -> Flow {
        takesBytesAtOnce ? delegate.loadTask(task, didReceive: response) : put(.response(response), of: task)
    }

    func loadTask(_ task: LoadTask, didLoad bytes: borrowing RawSpan) -> Flow {
        takesBytesAtOnce ? delegate.loadTask(task, didLoad: bytes) : put(.data([UInt8](copying: bytes)), of: task)
    }

    func loadTask(_ task: LoadTask, didReceiveInterim response: Response) { put(.interim(response), of: task) }
    func loadTask(_ task: LoadTask, willResendAfter response: Response) { put(.resend(response), of: task) }
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
    func loadTask(_ task: LoadTask, didBegin inner: LoadTask) { put(.innerBegan(inner), of: task) }
    func loadTask(_ task: LoadTask, inner: LoadTask, didEndWith error: LoadError?) { put(.innerEnded(inner, error), of: task) }
    func loadTask(_ task: LoadTask, didEndWith error: LoadError?) { put(.end(error), of: task) }

    @discardableResult
    private func put(_ event: DelegateEvent, of task: LoadTask) -> Flow {
        let (flow, isOverfull, dropped) = state.withLock { state -> (Flow, Bool, [DelegateEvent]) in
            let dropped = state.events.put(event)
            if state.events.size > limit { state.isPaused = true }
            return (state.isPaused ? .pause : .keepGoing, state.events.isOverfull, dropped)
        }
        withExtendedLifetime(dropped) { scheduleDrain(task) }
        if isOverfull { task.endForEvents() }
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
            let (event, resumes) = state.withLock { state -> (DelegateEvent?, Bool) in
                let event = state.events.take(isSuspended: isSuspended)
                if event == nil { state.isDraining = false }
                guard state.isPaused, state.events.size <= limit / 2 else { return (event, false) }
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

    private func deliver(_ event: DelegateEvent, of task: LoadTask) {
        let resumeCount = task.resumeCount
        switch event.deliver(to: delegate, of: task) {
        case nil, .keepGoing: break
        case .pause: task.suspend(unlessResumedSince: resumeCount)
        case .stopped: task.cancel()
        }
    }

    func taskWasResumed(_ task: LoadTask) { scheduleDrain(task) }

    func taskWasCancelled(_ task: LoadTask, _ error: LoadError) {
        // In one step, because the buffered end may reach the delegate at any moment, and there is only one end.
        let dropped = state.withLock { $0.events.holdsEnd ? $0.events.put(.end(error)) : nil }
        guard let dropped else { return }
        withExtendedLifetime(dropped) { scheduleDrain(task) }
    }
}
