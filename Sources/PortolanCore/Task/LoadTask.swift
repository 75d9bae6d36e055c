// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The caller's handle for one request, from its start to its end: redirects, challenges and several handlers included.
///
/// Every member may be called from any thread, at any moment of the load.
///
/// A running task lives until its load has ended, even without other references. A suspended task, or one whose
/// delegate returned `.pause`, lives only as long as it is referenced. When its last reference is released, the load is
/// stopped, its connection is closed, and its delegate receives nothing more.
public final class LoadTask: Sendable {
    /// The request that the task was made with.
    public let originalRequest: Request
    package let loader: Loader
    let delegate: any LoadDelegate
    /// A limit in bytes on the whole body, for callers that collect it.
    let bodyLimit: Int64?
    /// The parent load, while it exists; `nil` for a caller's own load.
    public weak let parent: LoadTask?
    /// The thread that waits for the task, if there is one.
    private let waiter: LoadWaiter?
    private let machine: Mutex<LoadTaskState>
    let timer: LoadTimer
    let counts = LoadCounts()
    let delegateSerializer: DelegateSerializer
    /// The nested loads, at any depth, whose beginning the delegate has received, but not their end. Changed only while
    /// the delegate is acquired.
    let innerLoads = Mutex<[LoadTask]>([])
    /// How many decisions of the caller this load and its nested loads wait for.
    private let callerWaits = Atomic(0)
    private let queueWaits = Mutex(QueueWaits())
    /// The number of loads that wait in a queue: those of this task and those nested in it.
    private let queuedCount = Atomic(0)

    /// - Parameters:
    ///   - queue: where `delegate` is called.
    ///   - queuesBytes: whether the response and the body take the queue, too. If not, `delegate` must take them on any
    ///     thread, also during another call.
    ///   - parent: the load that this one is nested in.
    init(
        _ request: Request, loader: Loader, delegate: any LoadDelegate, on queue: DeliveryQueue = .immediate, queuesBytes: Bool = true,
        bodyLimit: Int64? = nil, parent: LoadTask? = nil, waiter: LoadWaiter? = nil
    ) {
        originalRequest = request
        self.loader = loader
        self.delegate = delegate
        delegateSerializer = DelegateSerializer(
            on: queue, bytes: queuesBytes ? .queued(limit: loader.configuration.bufferSize) : .bypassing)
        self.bodyLimit = bodyLimit
        self.parent = parent
        self.waiter = waiter
        machine = Mutex(LoadTaskState(request: request))
        var defaults = loader.configuration.timeouts
        // The outer load's total limit also covers nested loads. A second limit of the same length would only race it.
        if parent != nil { defaults.total = nil }
        timer = LoadTimer(clock: loader.configuration.clock, timeouts: request.timeouts.filled(by: defaults))
    }

    /// Stops the load if the task was suspended, because nothing can resume it any more. The delegate cannot be
    /// notified: there is no task to pass.
    deinit {
        guard let (children, handlerLoad) = machine.withLock({ $0.isCreated ? nil : $0.ended() }) else { return }
        handlerLoad?.abandon()
        timer.stop()
        let queuedCount = queueWaits.withLock { $0.end() }
        if queuedCount > 0 { parent?.countQueued(-queuedCount) }
        for child in children { child.stopLoading() }
        if parent == nil { originalRequest.body?.discard() }
    }

    // MARK: Status

    public enum State: Hashable, Sendable {
        /// Made, not yet started by ``LoadTask/resume()``.
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

    /// The current request, in canonical form: the original one, or the one that redirects led to.
    public var currentRequest: Request { machine.withLock { $0.request } }
    public var progress: LoadProgress { counts.progress }
    public var metrics: LoadMetrics { machine.withLock { $0.metrics } }
    public var priority: LoadPriority { originalRequest.priority }
    /// The number of loads that this one is nested in; 0 for a caller's own load.
    package var nestingDepth: Int { originalRequest.nestingDepth }

    // MARK: The caller's control

    /// Starts the task, or continues it after ``suspend()`` or a delegate's `.pause`.
    ///
    /// Events may come on this thread before this call returns. A load whose handler needs nothing from outside may
    /// even end. Hold no lock that the delegate takes.
    public func resume() {
        let isFirst = machine.withLock { machine in
            guard machine.start(self) else { return false }
            _ = delegateSerializer.endSuspension()  // before its start there is nothing to hold back
            return true
        }
        guard !isFirst else {
            timer.start(self)
            return load(originalRequest)
        }
        resetIdleTimer()
        let (handlerLoad, deferred) = machine.withLock { ($0.unsuspend(self), delegateSerializer.endSuspension()) }
        handlerLoad?.resumeLoad()
        if deferred.enters { deliverQueuedEvents() }
        if deferred.readsMore { readMore() }
    }

    /// Pauses the load until ``resume()``: the handler's next delivery returns `.pause`, so that the handler stops
    /// fetching.
    ///
    /// That delivery and all later events wait for the resume, except failures and the beginnings and ends of nested
    /// loads. A delegate call that is in progress is not interrupted.
    public func suspend() {
        suspend(unlessResumedSince: nil)
    }

    var resumeCount: Int { machine.withLock { $0.resumeCount } }

    /// - Parameter count: the value of ``resumeCount`` when the reason to suspend arose.
    func suspend(unlessResumedSince count: Int?) {
        machine.withLock { machine in
            if machine.suspend(unlessResumedSince: count) { delegateSerializer.beginSuspension() }
        }
    }

    /// Ends the load with ``LoadError/Code/cancelled``. Has no effect once the delegate has received the end.
    public func cancel() {
        end(with: LoadError(.cancelled, message: "the load of \(originalRequest.url.shortDescription) was cancelled"))
    }

    // MARK: Handler loads

    private typealias Failed = [(deferred: LazyHandlers, error: LoadError)]

    /// Loads a request with the handler that takes it, and then each request that a redirect leads to during the start.
    ///
    /// - Parameter failed: handlers that could not be made for the first request.
    private func load(_ first: Request, failed: Failed = []) {
        var (upcoming, failed) = (Optional(first), failed)
        while let request = upcoming {
            do throws(LoadError) {
                switch try loader.find(request, failed: failed) {
                case .handler(let entry): startHandlerLoad(of: request, by: entry)
                case .deferred(let handlers): return load(request, afterMaking: handlers, failed: failed)
                }
            } catch {
                return end(with: error)
            }
            upcoming = machine.withLock { $0.started() }
            failed = []
        }
    }

    /// Makes handlers, and then finds one for the request. Until then no handler load runs, and the task can be ended
    /// at any time.
    private func load(_ request: Request, afterMaking handlers: LazyHandlers, failed: Failed) {
        handlers.resolve { [self] outcome in
            resetIdleTimer()
            switch outcome {
            case .success: load(request, failed: failed)
            case .failure(let error):
                loader.report(error, of: handlers)
                load(request, failed: failed + [(handlers, error)])
            }
        }
    }

    private func startHandlerLoad(of request: Request, by entry: RegisteredHandler) {
        let canonical = entry.handler.canonicalRequest(for: request)
        var request = canonical
        let client = DelegateClient(
            task: self, redirectCount: machine.withLock { $0.metrics.redirectCount }, isUpgrade: entry.isUpgrade)
        let next = loader.applyPolicies(to: &request, of: entry.handler, client: client)
        let handlerLoad = HandlerLoad(
            handler: entry.handler.identifier, traits: entry.handler.traits, request: request, offersCached: false,
            interimLimit: loader.configuration.maximumInterimResponsesPerRequest, next: next,
            observer: HandlerLoadRecord(entry: entry, loader: loader, task: self, servesDelegate: true))
        guard machine.withLock({ $0.begin(handlerLoad, for: canonical) }) else { return entry.endLoad() }
        loader.logStep("loaded by \(entry.handler.identifier)", of: self)
        let load = entry.handler.makeLoad(for: request, cachedResponse: nil, client: handlerLoad)
        handlerLoad.start(load, isAwaited: waiter?.isCurrent == true)
    }

    /// Starts the task and sleeps until it has ended. Does the load's work meanwhile, if it can. Must be called on the
    /// waiter's thread.
    ///
    /// If the thread must not wait, a load that could change something at a server (RFC 9110 §9.2.1) is not started.
    ///
    /// - Throws: ``LoadError/Code/noResources`` if the thread must not wait, or if too many threads wait already.
    func run(_ waiter: LoadWaiter) throws(LoadError) {
        let isSafe = originalRequest.method.isSafe
        if isSafe { resume() }
        guard !waiter.isOver else { return }
        guard !NonBlockingThreads.includeCurrent else {
            throw LoadError(
                .noResources,
                message: "can't wait for \(originalRequest.url.shortDescription) inside a call of a load, on the thread of an event loop; "
                    + "use DeliveryQueue.background, wait on another thread, or use await")
        }
        try LoadWorker.waiting { () throws(LoadError) in
            if !isSafe { resume() }
            while !waiter.isOver {
                if machine.withLock({ $0.handlerLoad })?.drive(for: waiter) != true { try waiter.wait() }
            }
        }
    }

    /// The reader has room again.
    func readMore() {
        resetIdleTimer()
        machine.withLock { $0.handlerLoad }?.resume()
        machine.withLock { $0.keepWhileRunning(self) }
    }

    /// The handler load has stopped delivering until the reader has room.
    func handlerLoadPaused() {
        machine.withLock { $0.keepWhileRunning(self) }
    }

    /// Whether the delegate, if a run of data retains it, will be released anyway: by the current delivery or by the
    /// coming end.
    var handlerLoadYieldsDelegate: Bool { machine.withLock { $0.handlerLoad }?.yieldsDelegate() ?? true }

    /// Why no events arrive, if the running load knows.
    var stallReason: String? { queueWait?.reason ?? machine.withLock { $0.handlerLoad }?.stallReason }

    /// Whether the load waits for its caller.
    var isWaitingForCaller: Bool {
        callerWaits.load(ordering: .relaxed) > 0
            || machine.withLock { $0.isSuspended || $0.handlerLoad?.isPaused == true }
    }

    // MARK: Queues

    /// What the load waits for in a queue; `nil` if it waits in none.
    var queueWait: QueueWait? { queueWaits.withLock { $0.first } }

    /// When the load's wait in a queue reaches its limit; `nil` if there is no limit.
    var queueDeadline: Duration? { queueWaits.withLock { $0.deadline } }

    /// The wait in a queue that has reached its limit at `time`.
    func expiredQueueWait(at time: Duration) -> QueueWait? { queueWaits.withLock { $0.expired(at: time) } }

    /// Whether this load, or a nested one, waits in a queue.
    var isQueued: Bool { queuedCount.load(ordering: .relaxed) > 0 }

    func enterQueue(_ wait: QueueWait, _ handlerLoad: ObjectIdentifier) {
        let time = timer.preciseNow
        guard queueWaits.withLock({ $0.enter(handlerLoad, wait, at: time) }) else { return }
        countQueued(1)
        timer.deadlineChanged(self)
    }

    /// The timer is not changed. When it fires at a deadline that is no longer valid, it takes the next one.
    func leaveQueue(_ handlerLoad: ObjectIdentifier, mayReturn: Bool) {
        if queueWaits.withLock({ $0.leave(handlerLoad, mayReturn: mayReturn) }) { countQueued(-1) }
    }

    private func leaveQueues() {
        let count = queueWaits.withLock { $0.end() }
        if count > 0 { countQueued(-count) }
    }

    private func countQueued(_ change: Int) {
        queuedCount.add(change, ordering: .relaxed)
        timer.resetIdleTimer()
        parent?.countQueued(change)
    }

    // MARK: Events of the task itself

    func resetIdleTimer() {
        timer.resetIdleTimer()
        parent?.resetIdleTimer()
    }

    func note(_ change: (inout LoadMetrics, Duration) -> Void) {
        let time = timer.elapsed
        machine.withLock { change(&$0.metrics, time) }
    }

    /// Combines ``resetIdleTimer()`` and ``note(_:)`` with one reading of the clock.
    func resetIdleTimer(_ change: (inout LoadMetrics, Duration) -> Void) {
        let time = timer.timedActivity()
        parent?.resetIdleTimer()
        machine.withLock { change(&$0.metrics, time) }
    }

    /// The load has ended. The delegate receives the end once.
    func ended(with error: LoadError?) {
        guard let (children, handlerLoad) = machine.withLock({ $0.ended() }) else { return }
        handlerLoad?.abandon()
        note { $0.timeToEnd = $1 }
        loader.logStep(error.map { "failed: \($0)" } ?? "finished, \(progress.bytesReceived) bytes", of: self)
        leaveQueues()
        timer.stop()
        for child in children { child.stopLoading() }
        if parent == nil { originalRequest.body?.discard() }
        notifyDelegateOfEnd(error)
    }
}

// MARK: Decisions of the client

extension LoadTask {
    /// Ends the running handler load, and loads `request`: at once, or, while the handler load is being started, when
    /// its start has returned.
    ///
    /// If a body that can no longer be read would have to be sent again, the load fails, as in the Fetch Standard.
    ///
    /// - Parameter wasDeferred: whether the handler waits for the decision.
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
        for child in machine.withLock({ $0.takeChildren() }) { child.stopLoading() }
        loader.logStep("redirected to \(request.url.redacted)", of: self)
        let time = timer.elapsed
        let (handlerLoad, mustLoad) = machine.withLock { ($0.handlerLoad, $0.follow(request, at: time)) }
        if wasDeferred { handlerLoad?.takeRedirect() }
        if mustLoad { load(request) }
    }

    /// Declines a redirect whose decision was deferred.
    func declineRedirect() {
        resetIdleTimer()
        machine.withLock { $0.handlerLoad }?.declineRedirect()
    }

    /// The load waits for a decision of the caller. The idle timer is paused until ``endWaitForCaller()``.
    func beginWaitForCaller() { countCallerWaits(1) }

    func endWaitForCaller() { countCallerWaits(-1) }

    private func countCallerWaits(_ change: Int) {
        callerWaits.add(change, ordering: .relaxed)
        timer.resetIdleTimer()
        parent?.countCallerWaits(change)
    }

    /// Ends the load. The caller receives `error`.
    func end(with error: LoadError) {
        switch machine.withLock({ $0.end() }) {
        case .nothing: if error.code == .cancelled { cancelWaitingEnd(error) }
        case .through(let handlerLoad): if !handlerLoad.end(with: error) { ended(with: error) }
        case .direct: ended(with: error)
        }
    }
}

extension LoadTask: CustomStringConvertible {
    public var description: String { "LoadTask(\(originalRequest.url.shortDescription), \(state))" }
}

// MARK: Nested loads

extension LoadTask {
    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        let outer = currentRequest
        var inner = request
        inner.nestingDepth = outer.nestingDepth + 1
        let limit = loader.configuration.nestingLimit
        // NEST-07
        guard inner.nestingDepth <= limit else {
            return FailedLoad(
                LoadError(
                    .nestedTooDeep,
                    message:
                        "\(request.url.shortDescription) is nested in \(inner.nestingDepth) loads; the limit is \(limit); remove layers"),
                client: client)
        }
        // NEST-01
        inner.visitedHandlers = visitedHandlers(of: outer, and: request)
        let load = NestedLoad(inner, outer: self, client: client)
        guard machine.withLock({ $0.adopt(load) }) else {
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

    /// Returns the loop guards for a request that is made on behalf of `outer`: those of `outer`, that of its handler,
    /// and those of the handlers between that one and the requesting one.
    private func visitedHandlers(of outer: Request, and request: Request) -> [LoopGuard] {
        var visitedHandlers = outer.visitedHandlers
        if let handler = machine.withLock({ $0.handlerLoad })?.handler {
            visitedHandlers.append(LoopGuard(handler: handler, url: outer.url))
        }
        for mark in request.visitedHandlers where !visitedHandlers.contains(mark) { visitedHandlers.append(mark) }
        return visitedHandlers
    }

    func release(_ child: LoadTask) {
        machine.withLock { $0.release(child) }
    }
}
