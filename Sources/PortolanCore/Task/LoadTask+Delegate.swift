// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// How the delegate is called: one call at a time, whichever load asks for it.
extension LoadTask {
    /// Calls the delegate, or has it called by whoever is with it just now.
    func tell(_ event: DelegateEvent) {
        guard enterGate(or: event) else { return }
        perform(event)
        leaveGate()
    }

    /// - Parameter event: put off where the delegate can't be called now. As a value that is made only then: it may be large.
    /// - Returns: whether the delegate may be called now; then ``leaveGate()`` must follow.
    func enterGate(or event: @autoclosure () -> DelegateEvent) -> Bool {
        if gate.enter() { return true }
        if gate.putOff(event()) { leaveGate() }
        return false
    }

    func leaveGate() {
        gate.leave { perform($0) }
    }

    private func perform(_ event: DelegateEvent) {
        switch event {
        case .innerBegan(let inner): innerLoads.withLock { $0.append(inner) }
        case .innerEnded(let inner, _): guard endInnerLoads(around: inner) else { return }
        case .end:
            _ = endInnerLoads(around: self)
            gate.close()
        case .response, .data, .interim, .trailers, .step, .sent, .redirect, .challenge, .challengeWithdrawn, .newBody: break
        }
        switch event.deliver(to: delegate, of: self) {
        case nil, .pause: break
        case .keepGoing: readMore()
        case .stopped: cancel()
        }
    }

    // MARK: Loads inside

    /// The caller's own load that this one lies in, at any depth; itself, where it is one.
    var outermost: LoadTask { parent?.outermost ?? self }

    /// Behind the gate: tells the delegate of the end of each load inside `outer` that it takes for running, the innermost first.
    ///
    /// - Returns: whether the delegate took `outer` itself for running; now it does not.
    private func endInnerLoads(around outer: LoadTask) -> Bool {
        let (ended, wasOpen) = innerLoads.withLock { open -> ([LoadTask], Bool) in
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
