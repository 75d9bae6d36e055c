// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import Synchronization

/// The client that a handler's load reports to. It retains the load, checks the order of the load's events with
/// ``EventStateMachine``, and forwards only allowed events to the next client.
///
/// A task has one handler load for each request: if a redirect is followed, the handler load ends, and the task makes a
/// handler load for the next request. If a handler passes its request on to the next handler, the next handler's load
/// has a separate handler load.
package final class HandlerLoad: ProtocolClient, StopReasonSource {
    private let machine: Atomic<EventStateMachine>
    private let rules: EventStateMachine.Rules
    private let next: any ProtocolClient
    package let handler: String
    private let hasBody: Bool
    /// Whether the handler's loads may call the client after a stop (``HandlerTraits``).
    private let maySendEventsAfterStop: Bool
    private let interimLimit: Int
    private let interimCount = Atomic(0)
    /// The number of interim responses that report the progress of an upload.
    private let progressCount = Atomic(0)
    private let observer: any HandlerLoadObserver
    private let load = Mutex<(any ProtocolLoad)?>(nil)
    /// Why the load ends. Set when the end is decided, and read when the client is notified.
    private let endReason = Mutex<LoadError?>(nil)
    /// Whether ``HandlerLoadObserver/handlerLoadEnded()`` was called.
    private let isLoadReleased = Atomic(false)
    /// How often each rule was violated after the load's first violation; `nil` before the first violation.
    private let violations = Mutex<[ContractRule: Int]?>(nil)
    /// The number of bytes that must still arrive to reach the response's expected length; negative if the length is
    /// unknown.
    private let remainingLength = Atomic<Int64>(-1)

    package init(
        handler: String, traits: HandlerTraits, request: Request, offersCachedResponse: Bool, interimLimit: Int = 128,
        next: any ProtocolClient, observer: consuming any HandlerLoadObserver
    ) {
        machine = Atomic(EventStateMachine())
        rules = EventStateMachine.Rules(
            allowsParts: traits.contains(.multipart), offersCachedResponse: offersCachedResponse)
        maySendEventsAfterStop = !traits.isDisjoint(with: [.blocking, .stopsAsynchronously])
        self.interimLimit = interimLimit
        self.handler = handler
        self.next = next
        self.observer = observer
        hasBody = request.method != .head
    }

    // MARK: Called by the task

    /// Starts `load`, unless the handler load is already over.
    ///
    /// - Parameter callingThreadWaits: whether the calling thread will wait for the end of the load.
    package func start(_ load: any ProtocolLoad, callingThreadWaits: Bool = false) {
        self.load.withLock { $0 = load }
        let mustStart = machine.update { machine in
            machine.loadWasMade()
            return machine.start()
        }
        if mustStart {
            if callingThreadWaits, let load = load.waitable { load.startAwaitedLoading() } else { load.startLoading() }
        } else {
            stopLoad()
            releaseLoad()
        }
    }

    /// Ends the load: the client receives `error`, and no later event. Can be called on any thread. Has no effect once
    /// the load is over.
    ///
    /// - Returns: `false` if the client is not notified, because a redirect was followed and the next handler load has
    ///   not begun.
    @discardableResult
    package func end(with error: LoadError) -> Bool {
        endReason.withLock { $0 = $0 ?? error }
        switch machine.update({ $0.end() }) {
        case .none: return true
        case .redirected: return false
        case .reportLater: stopLoad()
        case .reportNow:
            reportEnd()
            stopLoad()
            releaseLoad()
        }
        return true
    }

    package var stopReason: LoadError? { endReason.withLock { $0 } ?? (next as? any StopReasonSource)?.stopReason }

    /// Ends the load without notifying the client, because the task has ended. Has no effect once the load is over.
    func endSilently() {
        switch machine.update({ $0.end() }) {
        case .none, .redirected: break
        case .reportLater: stopLoad()
        case .reportNow:
            stopLoad()
            releaseLoad()
        }
    }

    /// The reader requests more.
    package func resume() {
        if machine.update({ $0.resume() }) { currentLoad?.resumeLoading() }
    }

    package func suspend() {
        machine.update { $0.suspend() }
    }

    /// - Returns: whether the caller must call ``resumeLoad()``, with no lock held.
    func unsuspend() -> Bool { machine.update { $0.unsuspend() } }

    func resumeLoad() { currentLoad?.resumeLoading() }

    /// The caller declines a redirect.
    package func declineRedirect() {
        if machine.update({ $0.declineRedirect() }) { currentLoad?.resumeLoading() }
    }

    /// The caller follows a redirect whose decision was deferred.
    package func followRedirect() {
        guard machine.update({ $0.followRedirect() }) else { return }
        stopLoad()
        releaseLoad()
    }

    /// Requests that this load releases the delegate.
    ///
    /// - Returns: whether an event is being delivered. If so,
    ///   ``HandlerLoadObserver/handlerLoadMustReleaseDelegate()`` is called after the delivery.
    func requestDelegateRelease() -> Bool { machine.update { $0.requestDelegateRelease() } }

    package var isPaused: Bool {
        machine.load(ordering: .relaxed).flags.contains(.paused)
    }

    /// Whether the load waits until its reader requests more. `false` while a redirect is being decided.
    var isPausedByReader: Bool {
        let machine = machine.load(ordering: .acquiring)
        return machine.flags.contains(.pausedByReader) && machine.phase != .decidingRedirect
    }

    /// Why no events arrive; `nil` if the load does not know.
    var stallReason: String? { (currentLoad as? any StallExplaining)?.stallReason }

    /// Does the load's work on the thread that waits for the load.
    ///
    /// - Returns: `false` if that thread could do nothing.
    func drive(for waiter: LoadWaiter) -> Bool { currentLoad?.waitable?.drive(for: waiter) ?? false }

    private var currentLoad: (any ProtocolLoad)? {
        load.withLock { $0 }
    }

    private func stopLoad() {
        guard let load = currentLoad else { return }
        load.stopLoading()
        if !maySendEventsAfterStop, !load.stopsAsynchronously { machine.update { $0.stopLoadingHasReturned() } }
    }

    private func reportEnd() {
        let error = endReason.withLock { $0 } ?? LoadError(.unknown, message: "the load ended without a reason")
        next.didFail(with: error)
    }

    /// Releases the load, which is over. This breaks the reference cycle between the load and its client.
    private func releaseLoad() {
        _ = load.withLock { $0.take() }  // released outside the lock, because its deinit is the handler's code
        guard !isLoadReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        observer.handlerLoadEnded()
    }

    // MARK: Deliveries

    /// Begins the delivery of an event, if the event is allowed. A violation fails the load.
    ///
    /// - Returns: whether the event must be delivered. If so, ``finishDelivery(of:flow:)`` must follow.
    private func beginDelivery(of event: EventStateMachine.Event) -> Bool {
        switch machine.update({ [rules] in $0.begin(event, rules: rules) }) {
        case .deliver: return true
        case .drop: return false
        case .violation(let rule): fail(rule)
        case .lateViolation(let rule): reportViolation(of: rule)
        }
        return false
    }

    /// - Parameter flow: the client's return value.
    /// - Returns: the flow for the handler.
    private func finishDelivery(of event: EventStateMachine.Event, flow: Flow = .keepGoing) -> Flow {
        let (result, mustRelease) = machine.update { ($0.endDelivery(of: event, flow: flow), $0.clearDelegateReleaseRequest()) }
        if mustRelease { observer.handlerLoadMustReleaseDelegate() }
        switch result {
        case .flow(.pause) where event != .redirect:
            // If the caller has released the task, nothing can resume it, and this call ends the load.
            observer.handlerLoadPaused()
            return machine.load(ordering: .acquiring).isOver ? .stopped : .pause
        case .flow(let flow): return flow
        case .ended: break
        case .mustReportEnd(nil): reportEnd()
        case .mustReportEnd(let rule?):
            reportViolation(of: rule)
            next.didFail(with: LoadError(violating: rule).attributed(to: handler))
            stopLoad()
        }
        releaseLoad()
        return .stopped
    }

    private func fail(_ rule: ContractRule, _ detail: String? = nil) {
        reportViolation(of: rule)
        end(with: LoadError(violating: rule, detail).attributed(to: handler))
    }

    private func reportViolation(of rule: ContractRule) {
        let isFirst = violations.withLock { violations in
            defer { if violations == nil { violations = [:] } else { violations?[rule, default: 0] += 1 } }
            return violations == nil
        }
        observer.handlerLoadObserved(violationOf: rule, by: handler, isFirst: isFirst)
    }

    /// Reports repeated violations here, because no further violation is possible.
    deinit {
        if let repeated = violations.withLock({ $0 }), !repeated.isEmpty { observer.handlerLoadRepeatedViolations(repeated, by: handler) }
    }

    /// Fails the load during the delivery of `event`.
    private func failDelivery(of event: EventStateMachine.Event, _ rule: ContractRule, _ detail: String) -> Flow {
        fail(rule, detail)
        return finishDelivery(of: event)
    }
}

/// Observes violations and completion, which the client does not receive.
package protocol HandlerLoadObserver: Sendable {
    /// A rule was violated. If the load was not over, it fails with this violation.
    ///
    /// - Parameter isFirst: whether this is the load's first violation.
    func handlerLoadObserved(violationOf rule: ContractRule, by handler: String, isFirst: Bool)
    /// The load was released, and had violated rules after its first violation.
    ///
    /// - Parameter counts: the number of violations of each rule, without the first violation.
    func handlerLoadRepeatedViolations(_ counts: [ContractRule: Int], by handler: String)
    /// The load is over and was released. Called once.
    func handlerLoadEnded()
    /// A nested load requested the delegate during a delivery, which has ended (``LoadTask``).
    func handlerLoadMustReleaseDelegate()
    /// The load pauses after a response or data: the client returned `.pause`, or the task is suspended.
    func handlerLoadPaused()
    /// See ``QueueingClient``.
    func handlerLoadEnteredQueue(_ wait: QueueWait, _ handlerLoad: ObjectIdentifier)
    func handlerLoadLeftQueue(_ handlerLoad: ObjectIdentifier, mayReturn: Bool)
    func handlerLoadLogs(access fact: @autoclosure () -> String)
}

extension HandlerLoadObserver {
    package func handlerLoadRepeatedViolations(_ counts: [ContractRule: Int], by handler: String) {}
    package func handlerLoadMustReleaseDelegate() {}
    package func handlerLoadPaused() {}
    package func handlerLoadEnteredQueue(_ wait: QueueWait, _ handlerLoad: ObjectIdentifier) {}
    package func handlerLoadLeftQueue(_ handlerLoad: ObjectIdentifier, mayReturn: Bool) {}
    package func handlerLoadLogs(access fact: @autoclosure () -> String) {}
}

extension HandlerLoad: QueueingClient {
    package func didEnterQueue(_ wait: QueueWait) { observer.handlerLoadEnteredQueue(wait, ObjectIdentifier(self)) }
    package func didLeaveQueue(mayReturn: Bool) { observer.handlerLoadLeftQueue(ObjectIdentifier(self), mayReturn: mayReturn) }
    package func logAccess(_ fact: @autoclosure () -> String) { observer.handlerLoadLogs(access: fact()) }
}

// MARK: Called by the handler's load

extension HandlerLoad {
    package func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        guard beginDelivery(of: .redirect) else { return .stopped }
        return finishDelivery(of: .redirect, flow: next.wasRedirected(to: request, redirectResponse: redirectResponse))
    }

    package func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {
        guard beginDelivery(of: .confirmation) else { return }
        next.cachedResponseIsValid(cached, newer: newer)
        _ = finishDelivery(of: .confirmation)
    }

    package func didReceiveInterim(_ response: Response) {
        guard beginDelivery(of: .interim) else { return }
        let isProgress = response.status?.code == Response.uploadProgressStatus
        let count =
            isProgress ? progressCount.add(1, ordering: .relaxed).newValue : interimCount.add(1, ordering: .relaxed).newValue
        if count <= (isProgress ? Response.uploadProgressLimit(interimLimit) : interimLimit) {
            next.didReceiveInterim(response)
        } else {
            let error = LoadError(
                .limitExceeded,
                message:
                    "more than \(interimLimit) interim responses (1xx) came; raise Loader.Configuration.maximumInterimResponsesPerRequest to allow more"
            )
            end(with: error.attributed(to: handler))
        }
        _ = finishDelivery(of: .interim)
    }

    /// The state machine handles this as an interim response, which is allowed in the same phases.
    package func willResend(after response: Response) {
        guard beginDelivery(of: .interim) else { return }
        next.willResend(after: response)
        _ = finishDelivery(of: .interim)
    }

    package func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        guard beginDelivery(of: .response) else { return .stopped }
        let missingBytes = remainingLength.exchange(response.expectedLength ?? -1, ordering: .relaxed)
        if missingBytes > 0, hasBody {
            return failDelivery(of: .response, .lengthIsKept, "the previous part ended \(missingBytes) bytes before its expected length")
        }
        return finishDelivery(of: .response, flow: next.didReceive(response, storage: storage))
    }

    package func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        guard machine.tryBeginDataFastPath() || beginDelivery(of: .data) else { return .stopped }
        let count = Int64(bytes.byteCount)
        let remaining = remainingLength.load(ordering: .relaxed)
        if remaining >= 0 {
            guard count <= remaining else { return failData(excess: count - remaining) }
            remainingLength.store(remaining - count, ordering: .relaxed)
        }
        let flow = count > 0 ? next.didLoad(bytes) : .keepGoing
        if flow == .keepGoing, machine.tryEndDataFastPath() { return .keepGoing }
        return finishDelivery(of: .data, flow: flow)
    }

    private func failData(excess: Int64) -> Flow {
        failDelivery(of: .data, .lengthIsKept, "the body is at least \(excess) bytes longer than its expected length")
    }

    package func didReceiveTrailers(_ fields: HTTPFields) {
        guard beginDelivery(of: .trailers) else { return }
        next.didReceiveTrailers(fields)
        _ = finishDelivery(of: .trailers)
    }

    package func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) {
        guard beginDelivery(of: .sent) else { return }
        next.didSend(bodyBytes: bodyBytes, total: total, expected: expected)
        _ = finishDelivery(of: .sent)
    }

    package func didReach(_ step: LoadStep) {
        guard beginDelivery(of: .step) else { return }
        next.didReach(step)
        _ = finishDelivery(of: .step)
    }

    package func didTransfer(_ report: TransferReport) {
        next.didTransfer(report)
    }

    package func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) {
        guard beginDelivery(of: .newBody) else { return answer(nil) }
        let callback = OneShotCallback(answer, fallback: .some(nil))
        callback.hold()
        next.needsNewBody { callback.answer($0) }
        _ = finishDelivery(of: .newBody)
        callback.release()
    }

    package func didReceive(_ challenge: AuthenticationChallenge) {
        guard beginDelivery(of: .challenge) else { return challenge.answer(.cancel) }
        challenge.callback.hold()
        next.didReceive(challenge)
        _ = finishDelivery(of: .challenge)
        challenge.callback.release()
    }

    package func didCancel(_ challenge: AuthenticationChallenge) {
        guard beginDelivery(of: .challengeCancelled) else { return }
        next.didCancel(challenge)
        _ = finishDelivery(of: .challengeCancelled)
    }

    package func didFinishLoading() {
        let missingBytes = remainingLength.load(ordering: .relaxed)
        guard missingBytes <= 0 || !hasBody || machine.load(ordering: .relaxed).isOver else {
            return fail(.lengthIsKept, "the body ended \(missingBytes) bytes before its expected length")
        }
        guard beginDelivery(of: .finish) else { return }
        next.didFinishLoading()
        _ = finishDelivery(of: .finish)
    }

    package func didFail(with error: LoadError) {
        guard beginDelivery(of: .failure) else { return }
        next.didFail(with: error)
        _ = finishDelivery(of: .failure)
    }

    package func willCache(_ response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void) {
        guard !machine.load(ordering: .relaxed).isOver else { return decide(nil) }
        next.willCache(response, decide: decide)
    }

    package func requestToResend(_ request: Request) -> Request { next.requestToResend(request) }

    package func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        guard !machine.load(ordering: .relaxed).isOver else {
            return FailedLoad(LoadError(.cancelled, message: "the parent load has ended"), client: client)
        }
        return next.makeNestedLoad(for: request, client: client)
    }

    package func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        guard !machine.load(ordering: .relaxed).isOver else {
            return FailedLoad(LoadError(.cancelled, message: "the load has ended"), client: client)
        }
        return next.makeLoadByNextHandler(for: request, client: client)
    }
}

extension LoadError {
    fileprivate func attributed(to handler: String) -> LoadError {
        addingNote("handler \(handler)")
    }
}

extension Atomic where Value == EventStateMachine {
    /// Replaces the value atomically with the result of `change`, which can run more than once.
    fileprivate func update<Result>(_ change: (inout EventStateMachine) -> Result) -> Result {
        var old = load(ordering: .acquiring)
        while true {
            var new = old
            let result = change(&new)
            guard new != old else { return result }
            let (exchanged, original) = weakCompareExchange(
                expected: old, desired: new, successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if exchanged { return result }
            old = original
        }
    }
}
