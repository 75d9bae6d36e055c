// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Calls the delegate, one call at a time, for the task's own load and for nested loads.
extension LoadTask {
    /// Delivers an event of the task's own load to the delegate, or queues it.
    func notifyDelegate(_ event: DelegateEvent) {
        guard case .acquired = acquireDelegate(orQueue: event) else { return }
        deliver(event)
        releaseDelegate()
    }

    enum DelegateAccess {
        /// The caller may call the delegate now. ``releaseDelegate()`` must follow.
        case acquired
        /// The caller may call the delegate now, and does not have to release it.
        case bypassed
        /// The event was queued. The load continues with this flow.
        case queued(Flow)
    }

    /// The kind of event for which the delegate is acquired.
    enum DelegatePurpose {
        case response
        /// Data, which may retain the delegate until the next data.
        case data
        case other
    }

    /// Acquires the delegate for an event of the task's own load.
    ///
    /// - Parameter event: queued if the delegate cannot be called now. Evaluated only in that case, because it copies
    ///   bytes.
    func acquireDelegate(for purpose: DelegatePurpose = .other, orQueue event: @autoclosure () -> DelegateEvent) -> DelegateAccess {
        if delegateSerializer.tryAcquire(retaining: purpose == .data) { return .acquired }
        if purpose != .other, delegateSerializer.canBypass { return .bypassed }
        if delegateSerializer.endRetention() {
            releaseDelegate()
            if delegateSerializer.tryAcquire(retaining: purpose == .data) { return .acquired }
        }
        deferEvent(event())
        return .queued(delegateSerializer.flowAfterDeferral)
    }

    private func deferEvent(_ event: DelegateEvent) {
        if delegateSerializer.deferEventOrAcquire(event) { deliverQueuedEvents() }
        if delegateSerializer.isOverfull { failForTooManyEvents() }
    }

    /// Delivers the queued events and releases the delegate, on the delegate's queue if it has one. Called with the
    /// delegate acquired.
    func deliverQueuedEvents() {
        guard let enqueue = delegateSerializer.enqueue else { return releaseDelegate() }
        enqueue { [self] in releaseDelegate() }
    }

    /// Fails the load because too many events wait for the delegate.
    func failForTooManyEvents() {
        end(
            with: LoadError(
                .limitExceeded,
                message:
                    "more than \(DelegateEventQueue.maximumCount) events of \(originalRequest.url.shortDescription) wait for its delegate; "
                    + "return sooner from calls of the delegate, or cancel a suspended task"))
    }

    /// Delivers an event of a nested load to the delegate, or queues it. The event can come at any time, even while
    /// data of the task's own load retains the delegate.
    func notifyDelegateOfNestedLoad(_ event: DelegateEvent) {
        delegateSerializer.disableRetention()
        if delegateSerializer.tryAcquire() {
            deliver(event)
            releaseDelegate()
        } else if delegateSerializer.deferEventOrAcquire(event) {
            deliverQueuedEvents()
        } else if delegateSerializer.isOverfull {
            failForTooManyEvents()
        } else if delegateSerializer.isRetained, !requestDelegateRelease() {
            endDelegateRetention()
        }
    }

    /// Ends the retention of the delegate by data, and delivers the queued events. Call it only while no data is being
    /// delivered.
    func endDelegateRetention() {
        if delegateSerializer.endRetention() { releaseDelegate() }
    }

    func releaseDelegate() {
        delegateSerializer.release { deliver($0) }
    }

    /// Cancels a load that has ended, but whose end still waits for the delegate. Then only the end is delivered, and
    /// the beginnings and ends of nested loads.
    func cancelWaitingEnd(_ error: LoadError) {
        if delegateSerializer.cancelWaitingEnd(error) { deliverQueuedEvents() }
    }

    private func deliver(_ event: DelegateEvent) {
        if delegateSerializer.endReaderPause() { readMore() }
        switch event {
        case .nestedLoadBegan(let nested): openNestedLoads.withLock { $0.append(nested) }
        case .nestedLoadEnded(let nested, _): guard reportEndOfNestedLoads(in: nested) else { return }
        case .end: closeDelegate()
        case .response, .data, .interim, .resend, .waitingForConnectivity, .trailers, .step, .sent, .received, .redirect, .challenge,
            .challengeCancelled, .newBody,
            .willCache:
            break
        }
        let isReaderLimited = delegateSerializer.readerLimit != nil
        let resumeCount = isReaderLimited ? self.resumeCount : 0
        defer { if case .end = event { loader.startedTasks.remove(identifier) } }
        switch event.deliver(to: delegate, of: self) {
        case nil: break
        case .pause: if isReaderLimited { suspend(unlessResumedSince: resumeCount) }
        case .keepGoing: if !isReaderLimited { readMore() }
        case .stopped: cancel()
        }
    }

    /// Notifies the caller's delegate that more of the body has arrived. Called by the delegate that receives the data,
    /// during the delivery.
    func notifyDelegateOfReceivedBytes(_ callersDelegate: any LoadDelegate) {
        if delegateSerializer.enqueue == nil || delegateSerializer.isDeliveringQueuedBytes {
            callersDelegate.loadTaskDidReceiveBytes(self)  // the delegate is already acquired for the delivery
        } else {
            notifyDelegate(.received)
        }
    }

    /// Delivers the end to the delegate, or queues it.
    func notifyDelegateOfEnd(_ error: LoadError?) {
        guard case .acquired = acquireDelegate(orQueue: .end(error)) else { return }
        closeDelegate()
        delegate.loadTask(self, didEndWith: error)
        loader.startedTasks.remove(identifier)
        releaseDelegate()
    }

    /// Whether the task was started after the end of the loader, which was the last call of this delegate.
    func isHidden(from delegate: any LoadDelegate) -> Bool {
        isStartedAfterLoaderEnd.load(ordering: .relaxed) && ObjectIdentifier(delegate) == loader.sessionDelegateIdentifier
    }

    /// Prepares the delivery of the end: reports the end of all nested loads, and drops other events. Called while the
    /// delegate is acquired.
    private func closeDelegate() {
        _ = reportEndOfNestedLoads(in: self)
        delegateSerializer.close()
        let questions = cachingDecisions.withLock { questions in
            defer { questions = [] }
            return questions
        }
        for question in questions { question.answer(nil) }
    }

    /// Adds a question about the cache. The task answers it with `nil` before the end, unless the delegate has answered
    /// it.
    func addCachingDecision(
        _ answer: @escaping @Sendable (CacheableResponse?) -> Void
    ) -> OneShotCallback<CacheableResponse?> {
        let question = OneShotCallback(answer, fallback: .some(nil))
        cachingDecisions.withLock { $0.append(question) }
        return question
    }

    // MARK: Nested loads

    /// The task that the caller made: this task, or its outermost parent.
    var outermostTask: LoadTask { parent?.outermostTask ?? self }

    /// Notifies the delegate of the end of each open load that is nested in `parent`, the innermost first. Called while
    /// the delegate is acquired.
    ///
    /// - Returns: whether `parent` itself was an open nested load. After this call, it is closed.
    private func reportEndOfNestedLoads(in parent: LoadTask) -> Bool {
        let (ended, wasOpen) = openNestedLoads.withLock { open -> ([LoadTask], Bool) in
            guard !open.isEmpty else { return ([], false) }
            let ended = open.filter { $0.isNested(in: parent) }
            let wasOpen = open.contains { $0 === parent }
            open.removeAll { $0 === parent || $0.isNested(in: parent) }
            return (ended, wasOpen)
        }
        for nested in ended.reversed() {
            let error = LoadError(.cancelled, message: "the parent load of \(nested.originalRequest.url.shortDescription) has ended")
            delegate.loadTask(self, nestedTask: nested, didEndWith: error)
        }
        return wasOpen
    }

    private func isNested(in other: LoadTask) -> Bool {
        guard let parent else { return false }
        return parent === other || parent.isNested(in: other)
    }
}
