// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Calls the delegate, one call at a time, for the task's own load and for nested loads.
extension LoadTask {
    /// Calls the delegate for the load itself, or leaves the event to the current holder of the delegate.
    func notifyDelegate(_ event: DelegateEvent) {
        guard case .acquired = acquireDelegate(or: event) else { return }
        perform(event)
        releaseDelegate()
    }

    enum DelegateAccess {
        /// The delegate may be called now. ``releaseDelegate()`` must follow.
        case acquired
        /// The delegate may be called now. Nothing has to follow.
        case bypassed
        /// The event was queued. A reader continues as `Flow` says.
        case queued(Flow)
    }

    /// Why the delegate is acquired.
    enum DelegatePurpose {
        case response
        /// May retain the delegate until the next event.
        case data
        case other
    }

    /// Acquires the delegate for an event of the load itself.
    ///
    /// - Parameter event: queued if the delegate cannot be called now. Evaluated only in that case, because it may be
    ///   large.
    func acquireDelegate(for purpose: DelegatePurpose = .other, or event: @autoclosure () -> DelegateEvent) -> DelegateAccess {
        if delegateSerializer.tryAcquire(holding: purpose == .data) { return .acquired }
        if purpose != .other, delegateSerializer.letsBytesBypass { return .bypassed }
        if delegateSerializer.endRetention() {
            releaseDelegate()
            if delegateSerializer.tryAcquire(holding: purpose == .data) { return .acquired }
        }
        deferEvent(event())
        return .queued(delegateSerializer.flowAfterDeferral)
    }

    private func deferEvent(_ event: DelegateEvent) {
        if delegateSerializer.deferEvent(event) { deliverQueuedEvents() }
        if delegateSerializer.isOverfull { endForEvents() }
    }

    /// Delivers the queued events, on the delegate's queue if it has one. Called with the delegate acquired.
    func deliverQueuedEvents() {
        guard let enqueue = delegateSerializer.enqueue else { return releaseDelegate() }
        enqueue { [self] in releaseDelegate() }
    }

    /// Ends the load because more events wait for the delegate than any correct load has.
    func endForEvents() {
        end(
            with: LoadError(
                .limitExceeded,
                message:
                    "more than \(DelegateEventQueue.mostEvents) events of \(originalRequest.url.shortDescription) wait for its delegate; "
                    + "return sooner from calls of the delegate, or cancel a suspended task"))
    }

    /// Does what ``notifyDelegate(_:)`` does, for a nested load. Its events come at any time, also between two pieces
    /// of data while the delegate is retained.
    func notifyDelegateOfNestedLoad(_ event: DelegateEvent) {
        delegateSerializer.share()
        if delegateSerializer.tryAcquire() {
            perform(event)
            releaseDelegate()
        } else if delegateSerializer.deferEvent(event) {
            deliverQueuedEvents()
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

    /// The load is over, but the end still waits for the delegate. After a cancel, only the end is delivered, and the
    /// beginnings and ends of nested loads.
    func cancelWaitingEnd(_ error: LoadError) {
        if delegateSerializer.cancelWaitingEnd(error) { deliverQueuedEvents() }
    }

    private func perform(_ event: DelegateEvent) {
        if delegateSerializer.endReaderPause() { readMore() }
        switch event {
        case .innerBegan(let inner): innerLoads.withLock { $0.append(inner) }
        case .innerEnded(let inner, _): guard endInnerLoads(around: inner) else { return }
        case .end: closeDelegate()
        case .response, .data, .interim, .resend, .trailers, .step, .sent, .received, .redirect, .challenge, .challengeWithdrawn, .newBody:
            break
        }
        let isReaderLimited = delegateSerializer.readerLimit != nil
        let resumeCount = isReaderLimited ? self.resumeCount : 0
        switch event.deliver(to: delegate, of: self) {
        case nil: break
        case .pause: if isReaderLimited { suspend(unlessResumedSince: resumeCount) }
        case .keepGoing: if !isReaderLimited { readMore() }
        case .stopped: cancel()
        }
    }

    /// Notifies the delegate that more of the body has arrived. Called during the delivery of the data.
    func notifyDelegateOfReceivedBytes(_ observer: any LoadDelegate) {
        if delegateSerializer.enqueue == nil || delegateSerializer.isDeliveringQueuedBytes {
            observer.loadTaskDidReceiveBytes(self)  // the delivery has acquired the delegate
        } else {
            notifyDelegate(.received)
        }
    }

    /// Does what ``notifyDelegate(_:)`` does, for the end, the one event that each load has.
    func notifyDelegateOfEnd(_ error: LoadError?) {
        guard case .acquired = acquireDelegate(or: .end(error)) else { return }
        closeDelegate()
        delegate.loadTask(self, didEndWith: error)
        releaseDelegate()
    }

    /// Called while the delegate is acquired: the end is delivered next.
    private func closeDelegate() {
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
            let error = LoadError(.cancelled, message: "the parent load of \(inner.originalRequest.url.shortDescription) has ended")
            delegate.loadTask(self, nestedTask: inner, didEndWith: error)
        }
        return wasOpen
    }

    private func lies(in outer: LoadTask) -> Bool {
        guard let parent else { return false }
        return parent === outer || parent.lies(in: outer)
    }
}
