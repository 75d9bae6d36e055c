// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The caller's handle for one request, from its start to its end. It follows redirects and answers challenges,
/// possibly with several handlers.
///
/// Every member can be called on any thread, at any time.
///
/// A running task lives until its load has ended, even without other references. A suspended task, or one whose
/// delegate returned `.pause`, lives only as long as the program retains it. When its last reference is released, the
/// load is stopped, its connection is closed, and its delegate receives no further call.
public final class LoadTask: Sendable {
    /// The request for which the task was made, with the fields of ``Loader/Configuration/defaultFields``.
    public let originalRequest: Request
    /// The number of the task among those of its loader, from 1.
    public let identifier: Int
    package let loader: Loader
    package let delegate: any LoadDelegate
    /// The maximum size of the body in bytes, for callers that collect it; `nil` for no limit.
    let bodyLimit: Int64?
    /// The task in which this task is nested, while the parent exists; `nil` for a task that the caller made.
    public weak let parent: LoadTask?
    /// The thread that waits for the task, if there is one.
    private let waitingThread: LoadWaiter?
    let machine: Mutex<LoadTaskState>
    let timer: LoadTimer
    let counts = LoadCounts()
    let credentialAttempts = Mutex(CredentialAttempts())
    /// Called with a response before its delivery. If it returns a request, the response is not delivered, and the task
    /// loads that request instead, as a retry would.
    let replacementRequest: (@Sendable (Response) -> Request?)?
    /// The attempt that waits for its start; `nil` if there is none.
    let waitingAttempt = Mutex<WaitingAttempt?>(nil)
    /// How often the task has waited for a network.
    let connectivityWaitCount = Atomic(0)
    /// Whether the task was started after the loader's delegate received the loader's end.
    let isStartedAfterLoaderEnd = Atomic(false)
    private let label = Mutex<String?>(nil)
    let delegateSerializer: DelegateSerializer
    /// The nested loads, at any depth, of which the delegate has received the beginning but not the end. Changed only
    /// while the delegate is acquired.
    let openNestedLoads = Mutex<[LoadTask]>([])
    /// The questions to the delegate about what is stored.
    let cachingDecisions = Mutex<[OneShotCallback<CacheableResponse?>]>([])
    /// The number of decisions of the caller for which this load and its nested loads wait.
    private let callerWaitCount = Atomic(0)
    private let queueWaits = Mutex(WaitingHandlerLoads())
    /// The number of loads that wait in a queue, of this task and of its nested loads.
    private let queuedCount = Atomic(0)

    /// - Parameters:
    ///   - queue: where `delegate` is called.
    ///   - queuesBodyEvents: whether the response and the body are delivered on `queue`, too. If not, `delegate` must
    ///     accept them on any thread, even during another call.
    ///   - parent: the task in which this task is nested.
    init(
        _ request: Request, loader: Loader, delegate: any LoadDelegate, on queue: DeliveryQueue = .immediate, queuesBodyEvents: Bool = true,
        bodyLimit: Int64? = nil, parent: LoadTask? = nil, waitingThread: LoadWaiter? = nil,
        replacementRequest: (@Sendable (Response) -> Request?)? = nil
    ) {
        var request = parent == nil ? loader.configuration.addingDefaultFields(to: request) : request
        if !loader.capturingInterceptors.isEmpty { request.capturedContexts = loader.captureContexts(for: parent) }
        originalRequest = request
        identifier = loader.startedTasks.makeIdentifier()
        self.loader = loader
        self.delegate = delegate
        delegateSerializer = DelegateSerializer(
            on: queue, bodyRoute: queuesBodyEvents ? .queued(limit: loader.configuration.bufferSize) : .bypassing)
        self.bodyLimit = bodyLimit
        self.parent = parent
        self.waitingThread = waitingThread
        self.replacementRequest = replacementRequest
        machine = Mutex(LoadTaskState(request: request))
        var defaults = loader.configuration.timeouts
        // The parent's total limit also covers nested loads. A second limit of the same length would expire at the same
        // time, and either error could win.
        if parent != nil { defaults.total = nil }
        timer = LoadTimer(clock: loader.configuration.clock, timeouts: request.timeouts.withDefaults(defaults))
    }

    /// Stops a load that has not ended. It is suspended or paused, and nothing can resume it any more. The delegate is
    /// not notified, because the call would need the task.
    deinit {
        guard let (children, handlerLoad) = machine.withLock({ $0.isCreated ? nil : $0.finish() }) else {
            return loader.startedTasks.remove(identifier)
        }
        handlerLoad?.endSilently()
        timer.stop()
        let queuedCount = queueWaits.withLock { $0.end() }
        if queuedCount > 0 { parent?.changeQueuedCount(by: -queuedCount) }
        for child in children { child.stopLoading() }
        if parent == nil { originalRequest.body?.discard() }
        loader.startedTasks.remove(identifier)
    }

    // MARK: Status

    public enum State: Hashable, Sendable {
        /// ``LoadTask/resume()`` was not called yet.
        case created, running, suspended, ended
    }

    public var state: State {
        machine.withLock { machine in
            switch machine.phase {
            case .created: .created
            case .ended: .ended
            case .findingHandler, .starting, .running: machine.isSuspended ? .suspended : .running
            }
        }
    }

    /// The current request, in canonical form: the original request, or the request to which redirects led.
    public var currentRequest: Request { machine.withLock { $0.request } }
    public var progress: LoadProgress { counts.progress }
    /// A text that the program can set, for example to show it in a list of tasks. Portolan does not use it.
    public var taskDescription: String? {
        get { label.withLock { $0 } }
        set { label.withLock { $0 = newValue } }
    }
    /// Sets the counts of a download's file, in bytes.
    package func recordWritten(_ total: Int64, expected: Int64?) { counts.recordWritten(total, expected: expected) }
    public var metrics: LoadMetrics { machine.withLock { $0.metrics } }
    /// The number of the current request, counted from 1, as in ``LoadMetrics/timings``: each redirect of a server adds
    /// a request, and so does a request that is sent again after a response.
    var requestNumber: Int { max(1, machine.withLock { $0.metrics.requestCount }) }
    public var priority: LoadPriority { originalRequest.priority }
    /// The number of parent tasks, at all levels; 0 for a task that the caller made.
    package var nestingDepth: Int { originalRequest.nestingDepth }

    // MARK: Called by the caller

    /// Starts the task, or continues it after ``suspend()`` or a delegate's `.pause`.
    ///
    /// The delegate can be called on this thread before this call returns. A load that does not wait for I/O can even
    /// end. Do not hold a lock that the delegate acquires. The delegate can start the next load in any of its calls:
    /// the stack does not grow with the number of such loads.
    public func resume() {
        let admission: StartedTasks.Admission? = machine.withLock { machine in
            guard machine.start() else { return nil }
            _ = delegateSerializer.endSuspension()  // before the start, no events wait
            return loader.startedTasks.add(self)
        }
        if let admission {
            timer.start(self)
            guard admission == .accepted else {
                isStartedAfterLoaderEnd.store(admission == .refusedAfterEnd, ordering: .relaxed)
                return end(with: Loader.invalidError(originalRequest))
            }
            if !NestedStarts.run({ startLoad(of: originalRequest) }) {
                DeliveryThreads.shared.run { [self] in startLoad(of: originalRequest) }
            }
            return
        }
        resetIdleTimer()
        let (handlerLoad, deferred) = machine.withLock { ($0.unsuspend(self), delegateSerializer.endSuspension()) }
        handlerLoad?.resumeLoad()
        if deferred.isAcquired { deliverQueuedEvents() }
        if deferred.canReadMore { readMore() }
    }

    /// Pauses the load until ``resume()``: the handler's next delivery returns `.pause`, so that the handler receives
    /// nothing more from its source.
    ///
    /// That delivery and all later events wait for the resume. Only failures, and the beginnings and ends of nested
    /// loads, are delivered at any time. A delegate call that is in progress is not interrupted.
    public func suspend() {
        suspend(unlessResumedSince: nil)
    }

    var resumeCount: Int { machine.withLock { $0.resumeCount } }

    /// - Parameter count: the value of ``resumeCount`` when the reason to suspend arose.
    func suspend(unlessResumedSince count: Int?) {
        machine.withLock { machine in
            if machine.suspend(self, unlessResumedSince: count) { delegateSerializer.beginSuspension() }
        }
    }

    /// Ends the load with ``LoadError/Code/cancelled``. Has no effect once the delegate has received the end.
    public func cancel() {
        end(with: LoadError(.cancelled, message: "the load of \(originalRequest.url.shortDescription) was cancelled"))
    }

    // MARK: Handler loads

    private typealias UnavailableHandlers = [(deferred: LazyHandlers, error: LoadError)]

    /// Finds the handler for a request and starts its load. If a redirect is followed during the start, continues with
    /// the next request.
    ///
    /// - Parameters:
    ///   - first: the first request.
    ///   - initial: the handlers that could not be made for the first request, with the reasons.
    private func startLoad(of first: Request, unavailableHandlers initial: UnavailableHandlers = []) {
        var (nextRequest, unavailable) = (Optional(first), initial)
        while let request = nextRequest {
            do throws(LoadError) {
                switch try loader.find(request, unavailableHandlers: unavailable) {
                case .handler(let entry): startHandlerLoad(of: request, by: entry)
                case .deferred(let handlers): return makeHandlers(handlers, thenLoad: request, unavailableHandlers: unavailable)
                }
            } catch {
                return end(with: error)
            }
            nextRequest = machine.withLock { $0.startLoadingDidReturn() }
            unavailable = []
        }
    }

    /// Starts another attempt, unless the task has ended.
    func startAttempt(of request: Request) {
        if !machine.withLock({ $0.isOver }) { startLoad(of: request) }
    }

    /// Makes handlers, and then finds one for the request. The task can end before the handlers are made.
    private func makeHandlers(_ handlers: LazyHandlers, thenLoad request: Request, unavailableHandlers: UnavailableHandlers) {
        handlers.resolve { [self] outcome in
            resetIdleTimer()
            switch outcome {
            case .success: startLoad(of: request, unavailableHandlers: unavailableHandlers)
            case .failure(let error):
                loader.report(error, of: handlers)
                startLoad(of: request, unavailableHandlers: unavailableHandlers + [(handlers, error)])
            }
        }
    }

    /// Creates the handler load, lets the handler make its load, and starts it.
    private func startHandlerLoad(of request: Request, by entry: RegisteredHandler) {
        let (requestNumber, redirectCount) = machine.withLock { machine in
            // An upgrade sends nothing. It has the number of the request that follows.
            if !entry.upgradesToHTTPS { machine.metrics.recordRequest() }
            return (machine.metrics.requestCount + (entry.upgradesToHTTPS ? 1 : 0), machine.metrics.redirectCount)
        }
        let delegateClient = DelegateClient(
            task: self, requestNumber: requestNumber, redirectCount: redirectCount, upgradesToHTTPS: entry.upgradesToHTTPS)
        let rates = loader.rateLimits.flatMap { parent == nil ? $0 : nil }
        let client: any ProtocolClient = rates.map { RateLimitedClient($0, of: self, next: delegateClient) } ?? delegateClient
        let prepared = loader.prepare(request, for: entry, client: client, task: self)
        let handler = prepared.entry.handler
        let sentRequest = rates?.limitingBody(of: prepared.request) ?? prepared.request
        let handlerLoad = HandlerLoad(
            handler: handler.identifier, traits: handler.traits, request: sentRequest, offersCachedResponse: false,
            interimLimit: loader.configuration.maximumInterimResponsesPerRequest, next: prepared.client,
            observer: HandlerLoadReporter(entry: prepared.entry, loader: loader, task: self, servesDelegate: true))
        guard machine.withLock({ $0.willStart(handlerLoad, for: prepared.canonical) }) else { return prepared.entry.endLoad() }
        loader.logStep("loaded by \(handler.identifier)", of: self, requestNumber: requestNumber)
        let load = handler.makeLoad(for: sentRequest, cachedResponse: nil, client: handlerLoad)
        handlerLoad.start(load, callingThreadWaits: waitingThread?.isCurrent == true)
    }

    /// Starts the task and waits until it has ended. The waiting thread does the load's work if the load allows that.
    /// Must be called on the waiter's thread.
    ///
    /// If the thread must not wait, a request that is not safe (RFC 9110 §9.2.1) is not sent.
    ///
    /// - Throws: ``LoadError/Code/noResources`` if the thread must not wait, or if too many threads wait already.
    func runAndWait(_ waiter: LoadWaiter) throws(LoadError) {
        let isSafe = originalRequest.method.isSafe
        if isSafe { resume() }
        guard !waiter.isOver else { return }
        guard !NonBlockingThreads.includeCurrentThread else {
            throw LoadError(
                .noResources,
                message: "can't wait for \(originalRequest.url.shortDescription) inside a call of a load, on the thread of an event loop; "
                    + "use DeliveryQueue.background, wait on another thread, or use await")
        }
        try LoadWorker.withSlotReleased { () throws(LoadError) in
            if !isSafe { resume() }
            while !waiter.isOver {
                if machine.withLock({ $0.handlerLoad })?.drive(for: waiter) != true { try waiter.wait() }
            }
        }
    }

    /// Resumes the load, because the reader can receive more.
    func readMore() {
        resetIdleTimer()
        machine.withLock { $0.handlerLoad }?.resume()
        machine.withLock { $0.updateRetention(self) }
    }

    /// The handler load has paused. If it waits for its reader, the loader no longer retains the task.
    func handlerLoadPaused() {
        machine.withLock { $0.updateRetention(self) }
    }

    /// Requests that the handler load releases the delegate, which data can retain.
    ///
    /// - Returns: whether the handler load will release the delegate: after the current delivery, or because the
    ///   handler load is ending.
    func requestDelegateRelease() -> Bool { machine.withLock { $0.handlerLoad }?.requestDelegateRelease() ?? true }

    /// Why no events arrive; `nil` if the running load does not know.
    var stallReason: String? { queueWait?.reason ?? machine.withLock { $0.handlerLoad }?.stallReason }

    /// Whether the load waits for its caller.
    var isWaitingForCaller: Bool {
        callerWaitCount.load(ordering: .relaxed) > 0
            || machine.withLock { $0.isSuspended || $0.handlerLoad?.isPaused == true }
    }

    // MARK: Queues

    /// The load's wait in a queue; `nil` if it waits in none.
    var queueWait: QueueWait? { queueWaits.withLock { $0.firstWait } }

    /// The time at which the load's wait in a queue reaches its limit; `nil` if there is no limit.
    var queueDeadline: Duration? { queueWaits.withLock { $0.deadline } }

    /// Returns the wait in a queue that has reached its limit at `time`; `nil` if there is none.
    func expiredQueueWait(at time: Duration) -> QueueWait? { queueWaits.withLock { $0.expiredWait(at: time) } }

    /// Whether this load, or a nested one, waits in a queue.
    var isQueued: Bool { queuedCount.load(ordering: .relaxed) > 0 }

    func enterQueue(_ wait: QueueWait, _ handlerLoad: ObjectIdentifier) {
        let time = timer.preciseNow
        guard queueWaits.withLock({ $0.enter(handlerLoad, wait, at: time) }) else { return }
        changeQueuedCount(by: 1)
        timer.queueDeadlineChanged(self)
    }

    /// Does not change the timer. If the timer fires at a deadline that is no longer valid, it continues with the next
    /// one.
    func leaveQueue(_ handlerLoad: ObjectIdentifier, mayReturn: Bool) {
        if queueWaits.withLock({ $0.leave(handlerLoad, mayReturn: mayReturn) }) { changeQueuedCount(by: -1) }
    }

    private func endQueueWaits() {
        let count = queueWaits.withLock { $0.end() }
        if count > 0 { changeQueuedCount(by: -count) }
    }

    private func changeQueuedCount(by change: Int) {
        queuedCount.add(change, ordering: .relaxed)
        timer.resetIdleTimer()
        parent?.changeQueuedCount(by: change)
    }

    // MARK: Activity, metrics and the end

    /// Restarts the idle time of this task and of its parents.
    func resetIdleTimer() {
        timer.resetIdleTimer()
        parent?.resetIdleTimer()
    }

    /// - Parameter change: receives the metrics, and the time since the start.
    func updateMetrics(_ change: (inout LoadMetrics, Duration) -> Void) {
        let time = timer.elapsed
        machine.withLock { change(&$0.metrics, time) }
    }

    /// Does what ``resetIdleTimer()`` and ``updateMetrics(_:)`` do, but reads the clock only once.
    func recordActivity(updatingMetrics change: (inout LoadMetrics, Duration) -> Void) {
        let time = timer.resetIdleTimerReturningElapsed()
        parent?.resetIdleTimer()
        machine.withLock { change(&$0.metrics, time) }
    }

    /// Ends the task and notifies the delegate. Only the first call has an effect.
    func finish(with error: LoadError?) {
        guard let (children, handlerLoad) = machine.withLock({ $0.finish() }) else { return }
        handlerLoad?.endSilently()
        updateMetrics { $0.timeToEnd = $1 }
        loader.logStep(error.map { "failed: \($0)" } ?? "finished, \(progress.bytesReceived) bytes", of: self)
        endQueueWaits()
        timer.stop()
        waitingAttempt.withLock { $0.take() }?.cancel()
        for child in children { child.stopLoading() }
        if parent == nil { originalRequest.body?.discard() }
        notifyDelegateOfEnd(error)
    }
}

// MARK: Decisions of the client

extension LoadTask {
    /// Follows a redirect: ends the running handler load, and loads `request`. If the handler load is still being
    /// started, `request` is loaded after that start has returned.
    ///
    /// If the body must be sent again but can be read only once, the load fails, as in the Fetch Standard.
    ///
    /// - Parameter wasDeferred: whether the decision was deferred, so that the handler's load waits.
    func follow(_ request: Request, wasDeferred: Bool) {
        guard request.body?.isSpent != true else {
            return end(
                with: LoadError(
                    .bodyFailed,
                    message: "the redirect to \(request.url.shortDescription) needs the body again, but the body can be read only once",
                    remedy: .sendRepeatableBody))
        }
        var request = request
        (request.visitedHandlers, request.nestingDepth) = (originalRequest.visitedHandlers, originalRequest.nestingDepth)
        if !originalRequest.capturedContexts.isEmpty { request.capturedContexts = originalRequest.capturedContexts }
        for child in machine.withLock({ $0.removeChildren() }) { child.stopLoading() }
        if loader.configuration.netrc != nil {
            credentialAttempts.withLock { attempts in
                attempts.netrcOrigins.visit(originalRequest.url)
                attempts.netrcOrigins.visit(request.url)
            }
        }
        loader.logStep("redirected to \(request.url)", of: self, requestNumber: requestNumber)
        let time = timer.elapsed
        let (handlerLoad, mustLoad) = machine.withLock { ($0.handlerLoad, $0.follow(request, at: time)) }
        if wasDeferred { handlerLoad?.followRedirect() }
        if mustLoad { startLoad(of: request) }
    }

    /// Declines a redirect whose decision was deferred.
    func declineRedirect() {
        resetIdleTimer()
        machine.withLock { $0.handlerLoad }?.declineRedirect()
    }

    /// Pauses the idle timer until ``endWaitForCaller()``, because the load waits for a decision of the caller.
    func beginWaitForCaller() { changeCallerWaitCount(by: 1) }

    func endWaitForCaller() { changeCallerWaitCount(by: -1) }

    private func changeCallerWaitCount(by change: Int) {
        callerWaitCount.add(change, ordering: .relaxed)
        timer.resetIdleTimer()
        parent?.changeCallerWaitCount(by: change)
    }

    /// Ends the load. The caller receives `error`.
    func end(with error: LoadError) {
        let isFinal = retryPolicy?.retryableFailure(error) == nil
        switch machine.withLock({ $0.end(with: error, isFinal: isFinal) }) {
        case .none: if error.code == .cancelled { cancelWaitingEnd(error) }
        case .endHandlerLoad(let handlerLoad): if !handlerLoad.end(with: error) { finish(with: error) }
        case .finish: finish(with: error)
        }
    }
}

extension LoadTask: CustomStringConvertible {
    public var description: String { "LoadTask(\(originalRequest.url.shortDescription), \(state))" }
}

// MARK: Nested loads

extension LoadTask {
    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        let outerRequest = currentRequest
        var nestedRequest = request
        nestedRequest.nestingDepth = outerRequest.nestingDepth + 1
        let limit = loader.configuration.nestingLimit
        // NEST-07
        guard nestedRequest.nestingDepth <= limit else {
            return FailedLoad(
                LoadError(
                    .nestedTooDeep,
                    message:
                        "\(request.url.shortDescription) is nested in \(nestedRequest.nestingDepth) loads; the limit is \(limit); remove layers"
                ),
                client: client)
        }
        // NEST-01
        nestedRequest.visitedHandlers = visitedHandlers(of: outerRequest, and: request)
        let load = NestedLoad(nestedRequest, parent: self, client: client)
        guard machine.withLock({ $0.addChild(load) }) else {
            return FailedLoad(
                LoadError(.cancelled, message: "the parent load of \(request.url.shortDescription) has ended"), client: client)
        }
        return load
    }

    func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        var next = request
        (next.visitedHandlers, next.nestingDepth) = (visitedHandlers(of: currentRequest, and: request), nestingDepth)
        return NextHandlerLoad(next, of: self, client: client)
    }

    /// Returns the loop guards for a request that a handler makes during this task's current request: the loop guards
    /// of both requests, and a loop guard for the handler of the current request.
    private func visitedHandlers(of current: Request, and request: Request) -> [LoopGuard] {
        var visitedHandlers = current.visitedHandlers
        if let handler = machine.withLock({ $0.handlerLoad })?.handler {
            visitedHandlers.append(LoopGuard(handler: handler, url: current.url))
        }
        for loopGuard in request.visitedHandlers where !visitedHandlers.contains(loopGuard) { visitedHandlers.append(loopGuard) }
        return visitedHandlers
    }

    func removeNestedLoad(_ child: LoadTask) {
        machine.withLock { $0.removeChild(child) }
    }
}
