// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Calls the delegate, one call at a time, for the task's own load and for nested loads.
extension LoadTask {
    /// Calls the delegate for the load itself, or leaves the event to the current holder of the delegate.
    func notifyDelegate(_ event: DelegateEvent) {
        guard acquireDelegate(or: event) else { return }
        perform(event)
        releaseDelegate()
    }

    /// Acquires the delegate for an event of the load itself.
    ///
    /// - Parameters:
    ///   - holds: whether the event is data, which may retain the delegate until the next event.
    ///   - event: queued if the delegate cannot be called now. Evaluated only in that case, because it may be large.
    /// - Returns: whether the delegate may be called now. If so, ``releaseDelegate()`` must follow.
    func acquireDelegate(holding holds: Bool = false, or event: @autoclosure () -> DelegateEvent) -> Bool {
        if delegateSerializer.tryAcquire(holding: holds) { return true }
        if delegateSerializer.endRetention() {
            releaseDelegate()
            if delegateSerializer.tryAcquire(holding: holds) { return true }
        }
        deferEvent(event())
        return false
    }

    private func deferEvent(_ event: DelegateEvent) {
        if delegateSerializer.deferEvent(event) { releaseDelegate() }
        if delegateSerializer.isOverfull { endForEvents() }
    }

    /// Ends the load because more events wait for the delegate than any correct load has.
    func endForEvents() {
        end(
            with: LoadError(
                .limitExceeded,
                message:
                    "more than \(DelegateEventQueue.mostEvents) events of \(originalRequest.url.shortDescription) wait for its delegate; "
                    + "return from its calls sooner, or cancel a suspended task"))
    }

    /// Does what ``notifyDelegate(_:)`` does, for a nested load. Its events come at any time, also between two pieces
    /// of data while the delegate is retained.
    func notifyDelegateOfNestedLoad(_ event: DelegateEvent) {
        delegateSerializer.share()
        if delegateSerializer.tryAcquire() {
            perform(event)
            releaseDelegate()
        } else if delegateSerializer.deferEvent(event) {
            releaseDelegate()
        } else if delegateSerializer.isOverfull {
            endForEvents()
        } else if delegateSerializer.isRetained, !handlerLoadYieldsDelegate {
            yieldDelegate()
        }
    }

    /// Delivers the events that wait because a run of data retains the delegate. Call it only while none of its events
    /// is being delivered.
    func yieldDelegate() {
        if delegateSerializer.endRetention() { releaseDelegate() }
    }

    func releaseDelegate() {
        delegateSerializer.release { perform($0) }
    }

    /// The load is over, but a suspension keeps the end from the delegate. After a cancel, only the
    /// end is delivered, and the beginnings and ends of nested loads.
    func cancelWaitingEnd(_ error: LoadError) {
        if delegateSerializer.cancelWaitingEnd(error) { releaseDelegate() }
        (delegate as? any EventHoldingDelegate)?.taskWasCancelled(self, error)
    }

    private func perform(_ event: DelegateEvent) {
        switch event {
        case .innerBegan(let inner): innerLoads.withLock { $0.append(inner) }
        case .innerEnded(let inner, _): guard endInnerLoads(around: inner) else { return }
        case .end: closeGate()
        case .response, .data, .interim, .resend, .trailers, .step, .sent, .redirect, .challenge, .challengeWithdrawn, .newBody: break
        }
        switch event.deliver(to: delegate, of: self) {
        case nil, .pause: break
        case .keepGoing: readMore()
        case .stopped: cancel()
        }
    }

    /// Does what ``notifyDelegate(_:)`` does, for the end, the one event that each load has.
    func notifyDelegateOfEnd(_ error: LoadError?) {
        guard acquireDelegate(or: .end(error)) else { return }
        closeGate()
        delegate.loadTask(self, didEndWith: error)
        releaseDelegate()
    }

    /// Called while the delegate is acquired: the end is delivered next.
    private func closeGate() {
        _ = endInnerLoads(around: self)
        delegateSerializer.close()
    }

    // MARK: Nested loads

    /// The caller's own load that this one is nested in, at any depth; this load itself if it is the caller's own.
    var outermost: LoadTask { parent?.outermost ?? self }

    /// Notifies the delegate of the end of each load inside `outer` that it considers running, the innermost first.
    /// Called while the delegate is acquired.
    ///
    /// - Returns: whether the delegate considered `outer` itself running. It no longer does.
    private func endInnerLoads(around outer: LoadTask) -> Bool {
        let (ended, wasOpen) = innerLoads.withLock { open -> ([LoadTask], Bool) in
            guard !open.isEmpty else { return ([], false) }
            let ended = open.filter { $0.lies(in: outer) }
            let wasOpen = open.contains { $0 === outer }
            open.removeAll { $0 === outer || $0.lies(in: outer) }
            return (ended, wasOpen)
        }
        for inner in ended.reversed() {
            let error = LoadError(.cancelled, message: "the load around \(inner.originalRequest.url.shortDescription) has ended")
            delegate.loadTask(self, inner: inner, didEndWith: error)
        }
        return wasOpen
    }

    private func lies(in outer: LoadTask) -> Bool {
        guard let parent else { return false }
        return parent === outer || parent.lies(in: outer)
    }
}
