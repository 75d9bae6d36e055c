// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How the delegate is called: one call at a time, whichever load asks for it.
extension LoadTask {
    /// Calls the delegate for the load itself, or has it called by whoever is with it just now.
    func tell(_ event: DelegateEvent) {
        guard enterGate(or: event) else { return }
        perform(event)
        leaveGate()
    }

    /// For an event of the load itself.
    ///
    /// - Parameters:
    ///   - stays: whether it is data, which may stay behind the gate until the next event.
    ///   - event: put off where the delegate can't be called now. As a value that is made only then: it may be large.
    /// - Returns: whether the delegate may be called now; then ``leaveGate()`` must follow.
    func enterGate(toStay stays: Bool = false, or event: @autoclosure () -> DelegateEvent) -> Bool {
        if gate.enter(toStay: stays) { return true }
        if gate.stopKeeping() {
            leaveGate()
            if gate.enter(toStay: stays) { return true }
        }
        putOff(event())
        return false
    }

    private func putOff(_ event: DelegateEvent) {
        if gate.putOff(event) { leaveGate() }
        if gate.isOverfull { endForEvents() }
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
    func tellFromInside(_ event: DelegateEvent) {
        gate.share()
        if gate.enter() {
            perform(event)
            leaveGate()
        } else if gate.putOff(event) {
            leaveGate()
        } else if gate.isOverfull {
            endForEvents()
        } else if gate.isKept, !attemptHandsGateOver {
            handGateOver()
        }
    }

    /// Tells what waits behind the gate that a run of data kept. Only while none of its events is with the delegate.
    func handGateOver() {
        if gate.stopKeeping() { leaveGate() }
    }

    func leaveGate() {
        gate.leave { perform($0) }
    }

    /// The load is over, and a suspension keeps that from the delegate: who cancels then wants no more than the end.
    func cancelWaitingEnd(_ error: LoadError) {
        if gate.cancelWaitingEnd(error) { leaveGate() }
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
    func tellEnd(_ error: LoadError?) {
        guard enterGate(or: .end(error)) else { return }
        closeGate()
        delegate.loadTask(self, didEndWith: error)
        leaveGate()
    }

    /// Behind the gate: the end is told next.
    private func closeGate() {
        _ = endInnerLoads(around: self)
        gate.close()
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
