// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import Synchronization

/// One load of one handler. As the handler's client, it forwards only events in the order of ``EventStateMachine``.
///
/// A redirect that is followed ends the handler load. The task then starts the next one, with its own client.
package final class HandlerLoad: ProtocolClient {
    private let order: Atomic<EventStateMachine>
    private let rules: EventStateMachine.Rules
    private let next: any ProtocolClient
    package let handler: String
    private let hasBody: Bool
    /// Whether the handler's loads may still call the client after a stop (``HandlerTraits``).
    private let mayOverrunStop: Bool
    private let interimLimit: Int
    private let interimCount = Atomic(0)
    private let observer: any HandlerLoadObserver
    private let load = Mutex<(any ProtocolLoad)?>(nil)
    /// Why the load ends. Set when the end is decided, and read when the client is notified.
    private let pendingEnd = Mutex<LoadError?>(nil)
    /// Whether ``HandlerLoadObserver/handlerLoadEnded()`` was called.
    private let isClosed = Atomic(false)
    /// How often each rule was violated after the first violation; `nil` before that.
    private let violations = Mutex<[ContractRule: Int]?>(nil)
    /// Remaining bytes of the response's expected length; negative if unknown.
    private let owed = Atomic<Int64>(-1)

    package init(
        handler: String, traits: HandlerTraits, request: Request, offersCached: Bool, interimLimit: Int = 128,
        next: any ProtocolClient, observer: consuming any HandlerLoadObserver
    ) {
        order = Atomic(EventStateMachine())
        rules = EventStateMachine.Rules(
            allowsParts: traits.contains(.multipart), offersCached: offersCached)
        mayOverrunStop = !traits.isDisjoint(with: [.blocking, .stopsInTurn])
        self.interimLimit = interimLimit
        self.handler = handler
        self.next = next
        self.observer = observer
        hasBody = request.method != .head
    }

    // MARK: From the task

    /// Starts `load`, unless the handler load is already over.
    ///
    /// - Parameter isAwaited: whether the calling thread will wait for the load.
    package func start(_ load: any ProtocolLoad, isAwaited: Bool = false) {
        self.load.withLock { $0 = load }
        let starts = order.update { order in
            order.made()
            return order.start()
        }
        if starts {
            if isAwaited, let load = load.waitable { load.startAwaitedLoading() } else { load.startLoading() }
        } else {
            stopLoad()
            close()
        }
    }

    /// Ends the load: the client receives `error`, and no later event. Any thread. Has no effect once the load is over.
    ///
    /// - Returns: `false` if nothing notifies the client: a redirect was followed, and the next handler load has not
    ///   begun.
    @discardableResult
    package func end(with error: LoadError) -> Bool {
        pendingEnd.withLock { $0 = $0 ?? error }
        switch order.update({ $0.end() }) {
        case .nothing: return true
        case .redirected: return false
        case .later: stopLoad()
        case .now:
            reportEnd()
            stopLoad()
            close()
        }
        return true
    }

    /// Ends the load silently because the task ended. Has no effect once the load is over.
    func abandon() {
        switch order.update({ $0.end() }) {
        case .nothing, .redirected: break
        case .later: stopLoad()
        case .now:
            stopLoad()
            close()
        }
    }

    /// The reader wants more.
    package func resume() {
        if order.update({ $0.resume() }) { currentLoad?.resumeLoading() }
    }

    package func suspend() {
        order.update { $0.suspend() }
    }

    /// - Returns: whether the caller must call ``resumeLoad()``, with no lock held.
    func unsuspend() -> Bool { order.update { $0.unsuspend() } }

    func resumeLoad() { currentLoad?.resumeLoading() }

    /// Declines a redirect.
    package func declineRedirect() {
        if order.update({ $0.declineRedirect() }) { currentLoad?.resumeLoading() }
    }

    /// Follows a redirect whose decision was deferred.
    package func takeRedirect() {
        guard order.update({ $0.takeRedirect() }) else { return }
        stopLoad()
        close()
    }

    /// Requests that this load yields the delegate. Returns whether an event is being delivered: if so,
    /// ``HandlerLoadObserver/handlerLoadOwesDelegate()`` follows at its end.
    func yieldsDelegate() -> Bool { order.update { $0.requestYield() } }

    package var isPaused: Bool {
        order.load(ordering: .relaxed).flags.contains(.paused)
    }

    /// Whether the load continues only when its reader requests more. `false` while a redirect is being decided.
    var isHeldByReader: Bool {
        let order = order.load(ordering: .acquiring)
        return order.flags.contains(.heldByReader) && order.phase != .deciding
    }

    /// Why no events arrive, if the load knows.
    var stallReason: String? { (currentLoad as? any StallExplaining)?.stallReason }

    /// Does the load's work on a thread that waits for it.
    ///
    /// - Returns: `false` if that thread could do nothing.
    func drive(for waiter: LoadWaiter) -> Bool { currentLoad?.waitable?.drive(for: waiter) ?? false }

    private var currentLoad: (any ProtocolLoad)? {
        load.withLock { $0 }
    }

    private func stopLoad() {
        guard let load = currentLoad else { return }
        load.stopLoading()
        if !mayOverrunStop, !load.stopsInTurn { order.update { $0.stopReturned() } }
    }

    private func reportEnd() {
        let error = pendingEnd.withLock { $0 } ?? LoadError(.unknown, message: "the load ended without a reason")
        next.didFail(with: error)
    }

    /// The load is over. Releases it, which also breaks the reference cycle between load and client.
    private func close() {
        _ = load.withLock { $0.take() }  // released outside the lock: its deinit is the handler's code
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        observer.handlerLoadEnded()
    }

    // MARK: Order of events

    private func begin(_ event: EventStateMachine.Event) -> Bool {
        switch order.update({ [rules] in $0.begin(event, rules: rules) }) {
        case .deliver: return true
        case .drop: return false
        case .violation(let rule): fail(rule)
        case .lateViolation(let rule): observe(violationOf: rule)
        }
        return false
    }

    private func end(_ event: EventStateMachine.Event, _ answer: Flow = .keepGoing) -> Flow {
        let (delivered, owesDelegate) = order.update { ($0.endDelivery(of: event, flow: answer), $0.takePendingYield()) }
        if owesDelegate { observer.handlerLoadOwesDelegate() }
        switch delivered {
        case .flow(.pause) where event != .redirect:
            // The caller may have released the task, so that nothing can resume it. This call then ends the load.
            observer.handlerLoadPaused()
            return order.load(ordering: .acquiring).isOver ? .stopped : .pause
        case .flow(let flow): return flow
        case .over: break
        case .report(nil): reportEnd()
        case .report(let rule?):
            observe(violationOf: rule)
            next.didFail(with: LoadError(violating: rule).attributed(to: handler))
            stopLoad()
        }
        close()
        return .stopped
    }

    private func fail(_ rule: ContractRule, _ detail: String? = nil) {
        observe(violationOf: rule)
        end(with: LoadError(violating: rule, detail).attributed(to: handler))
    }

    private func observe(violationOf rule: ContractRule) {
        let isFirst = violations.withLock { violations in
            defer { if violations == nil { violations = [:] } else { violations?[rule, default: 0] += 1 } }
            return violations == nil
        }
        observer.handlerLoadObserved(violationOf: rule, by: handler, isFirst: isFirst)
    }

    /// Reports repeated violations. No further call is possible.
    deinit {
        if let repeated = violations.withLock({ $0 }), !repeated.isEmpty { observer.handlerLoadRepeated(repeated, by: handler) }
    }

    /// Fails the load during the delivery of `event`.
    private func breakOff(_ event: EventStateMachine.Event, _ rule: ContractRule, _ detail: String) -> Flow {
        fail(rule, detail)
        return end(event)
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
    func handlerLoadRepeated(_ counts: [ContractRule: Int], by handler: String)
    /// The load is over and was released. Called once.
    func handlerLoadEnded()
    /// An event was delivered, and a nested load requested the delegate meanwhile (``LoadTask``).
    func handlerLoadOwesDelegate()
    /// The client paused the load at a response or at data.
    func handlerLoadPaused()
    /// See ``QueueingClient``.
    func handlerLoadEnteredQueue(_ wait: QueueWait, _ handlerLoad: ObjectIdentifier)
    func handlerLoadLeftQueue(_ handlerLoad: ObjectIdentifier, mayReturn: Bool)
}

extension HandlerLoadObserver {
    package func handlerLoadRepeated(_ counts: [ContractRule: Int], by handler: String) {}
    package func handlerLoadOwesDelegate() {}
    package func handlerLoadPaused() {}
    package func handlerLoadEnteredQueue(_ wait: QueueWait, _ handlerLoad: ObjectIdentifier) {}
    package func handlerLoadLeftQueue(_ handlerLoad: ObjectIdentifier, mayReturn: Bool) {}
}

extension HandlerLoad: QueueingClient {
    package func didEnterQueue(_ wait: QueueWait) { observer.handlerLoadEnteredQueue(wait, ObjectIdentifier(self)) }
    package func didLeaveQueue(mayReturn: Bool) { observer.handlerLoadLeftQueue(ObjectIdentifier(self), mayReturn: mayReturn) }
}

// MARK: From the handler

extension HandlerLoad {
    package func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        guard begin(.redirect) else { return .stopped }
        return end(.redirect, next.wasRedirected(to: request, redirectResponse: redirectResponse))
    }

    package func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) {
        guard begin(.confirmation) else { return }
        next.cachedResponseIsValid(cached, newer: newer)
        _ = end(.confirmation)
    }

    package func didReceiveInterim(_ response: Response) {
        guard begin(.interim) else { return }
        if interimCount.add(1, ordering: .relaxed).newValue <= interimLimit {
            next.didReceiveInterim(response)
        } else {
            let error = LoadError(
                .limitExceeded,
                message:
                    "more than \(interimLimit) interim responses (1xx) came; raise Loader.Configuration.maximumInterimResponsesPerRequest to allow more"
            )
            end(with: error.attributed(to: handler))
        }
        _ = end(.interim)
    }

    /// Allowed wherever an interim response is allowed.
    package func willResend(after response: Response) {
        guard begin(.interim) else { return }
        next.willResend(after: response)
        _ = end(.interim)
    }

    package func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow {
        guard begin(.response) else { return .stopped }
        let owed = owed.exchange(response.expectedLength ?? -1, ordering: .relaxed)
        if owed > 0, hasBody {
            return breakOff(.response, .lengthIsKept, "the previous part ended \(owed) bytes before its expected length")
        }
        return end(.response, next.didReceive(response, storage: storage))
    }

    package func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        guard order.beginDataFreely() || begin(.data) else { return .stopped }
        let count = Int64(bytes.byteCount)
        let owed = owed.load(ordering: .relaxed)
        if owed >= 0 {
            guard count <= owed else { return breakOff(byExcess: count - owed) }
            self.owed.store(owed - count, ordering: .relaxed)
        }
        let answer = count > 0 ? next.didLoad(bytes) : .keepGoing
        if answer == .keepGoing, order.endDataFreely() { return .keepGoing }
        return end(.data, answer)
    }

    private func breakOff(byExcess excess: Int64) -> Flow {
        breakOff(.data, .lengthIsKept, "the body is at least \(excess) bytes longer than its expected length")
    }

    package func didReceiveTrailers(_ fields: HTTPFields) {
        guard begin(.trailers) else { return }
        next.didReceiveTrailers(fields)
        _ = end(.trailers)
    }

    package func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) {
        guard begin(.sent) else { return }
        next.didSend(bodyBytes: bodyBytes, total: total, expected: expected)
        _ = end(.sent)
    }

    package func didReach(_ step: LoadStep) {
        guard begin(.step) else { return }
        next.didReach(step)
        _ = end(.step)
    }

    package func didTransfer(_ report: TransferReport) {
        next.didTransfer(report)
    }

    package func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) {
        guard begin(.newBody) else { return answer(nil) }
        let reply = OneShotCallback(answer, fallback: .some(nil))
        reply.hold()
        next.needsNewBody { reply.answer($0) }
        _ = end(.newBody)
        reply.release()
    }

    package func didReceive(_ challenge: AuthenticationChallenge) {
        guard begin(.challenge) else { return challenge.answer(.cancel) }
        challenge.reply.hold()
        next.didReceive(challenge)
        _ = end(.challenge)
        challenge.reply.release()
    }

    package func didCancel(_ challenge: AuthenticationChallenge) {
        guard begin(.challengeWithdrawn) else { return }
        next.didCancel(challenge)
        _ = end(.challengeWithdrawn)
    }

    package func didFinishLoading() {
        let owed = owed.load(ordering: .relaxed)
        guard owed <= 0 || !hasBody || order.load(ordering: .relaxed).isOver else {
            return fail(.lengthIsKept, "the body ended \(owed) bytes before its expected length")
        }
        guard begin(.finish) else { return }
        next.didFinishLoading()
        _ = end(.finish)
    }

    package func didFail(with error: LoadError) {
        guard begin(.failure) else { return }
        next.didFail(with: error)
        _ = end(.failure)
    }

    package func requestToResend(_ request: Request) -> Request { next.requestToResend(request) }

    package func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        guard !order.load(ordering: .relaxed).isOver else {
            return FailedLoad(LoadError(.cancelled, message: "the parent load has ended"), client: client)
        }
        return next.makeNestedLoad(for: request, client: client)
    }

    package func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        guard !order.load(ordering: .relaxed).isOver else {
            return FailedLoad(LoadError(.cancelled, message: "the load has ended"), client: client)
        }
        return next.makeLoadByNextHandler(for: request, client: client)
    }
}

extension LoadError {
    fileprivate func attributed(to handler: String) -> LoadError {
        noting("handler \(handler)")
    }
}

extension Atomic where Value == EventStateMachine {
    /// Replaces the value atomically with the result of `change`, which may run more than once.
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
