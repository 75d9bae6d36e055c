// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How the delegate is called: one call at a time, whichever load asks for it.
extension LoadTask {
    /// Calls the delegate for the load itself, or has it called by whoever is with it just now.
    func notifyDelegate(_ event: DelegateEvent) {
        guard acquireDelegate(or: event) else { return }
        perform(event)
        releaseDelegate()
    }

    /// For an event of the load itself.
    ///
    /// - Parameters:
    ///   - holds: whether it is data, which may stay behind the gate until the next event.
    ///   - event: put off where the delegate can't be called now. As a value that is made only then: it may be large.
    /// - Returns: whether the delegate may be called now; then ``releaseDelegate()`` must follow.
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

    /// More events wait for the delegate than a sound load ever has.
    func endForEvents() {
        end(
            with: LoadError(
                .limitExceeded,
                message:
                    "more than \(DelegateEventQueue.mostEvents) events of \(originalRequest.url.shortDescription) wait for its delegate; "
                    + "return from its calls sooner, or cancel a suspended task"))
    }

    /// As ``tell(_:)``, for a load inside: it comes at any time, also between two pieces of data for which the gate is kept.
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

    /// Tells what waits behind the gate that a run of data kept. Only while none of its events is with the delegate.
    func yieldDelegate() {
        if delegateSerializer.endRetention() { releaseDelegate() }
    }

    func releaseDelegate() {
        delegateSerializer.release { perform($0) }
    }

    /// The load is over, and a suspension keeps that from the delegate: who cancels then wants no more than the end.
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

    /// As ``tell(_:)`` of the end: the one event that each load has.
    func notifyDelegateOfEnd(_ error: LoadError?) {
        guard acquireDelegate(or: .end(error)) else { return }
        closeGate()
        delegate.loadTask(self, didEndWith: error)
        releaseDelegate()
    }

    /// Behind the gate: the end is told next.
    private func closeGate() {
        _ = endInnerLoads(around: self)
        delegateSerializer.close()
    }

    // MARK: Loads inside

    /// The caller's own load that this one lies in, at any depth; itself, where it is one.
    var outermost: LoadTask { parent?.outermost ?? self }

    /// Behind the gate: tells the delegate of the end of each load inside `outer` that it takes for running, the innermost first.
    ///
    /// - Returns: whether the delegate took `outer` itself for running; now it does not.
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
