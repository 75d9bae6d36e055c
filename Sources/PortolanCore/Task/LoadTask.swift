// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// One load, from the request to its end: redirects, challenges and several handlers included.
///
/// Every member may be called from any thread, at any moment of the load.
///
/// A running task lives until its load has ended, also if nothing else refers to it. A suspended one, or one whose delegate has answered `.pause`, lives as
/// long as it is kept: when its last reference is released, the load is stopped, its connection is closed, and its delegate hears nothing more.
public final class LoadTask: Sendable {
    /// The request that the task was made with.
    public let originalRequest: Request
    package let loader: Loader
    let delegate: any LoadDelegate
    /// A limit on the whole body, for those who collect it.
    let bodyLimit: Int64?
    /// The load that this one lies in, while that is kept; `nil` for a caller's own.
    public weak let parent: LoadTask?
    /// The thread that waits for it, where there is one.
    private let waiter: LoadWaiter?
    private let machine: Mutex<LoadTaskState>
    let timer: LoadTimer
    let counts = LoadCounts()
    let delegateSerializer = DelegateSerializer()
    /// The loads inside this one, at any depth, of which its delegate has heard the beginning and not the end; only changed behind the gate.
    let innerLoads = Mutex<[LoadTask]>([])
    private let openQuestions = Atomic(0)
    private let queueWaits = Mutex(QueueWaits())
    /// How many loads wait in a queue: those of this task, and those inside it.
    private let queuedCount = Atomic(0)

    /// - Parameter parent: the load that this one lies in.
    init(
        _ request: Request, loader: Loader, delegate: any LoadDelegate, bodyLimit: Int64? = nil, parent: LoadTask? = nil,
        waiter: LoadWaiter? = nil
    ) {
        originalRequest = request
        self.loader = loader
        self.delegate = delegate
        self.bodyLimit = bodyLimit
        self.parent = parent
        self.waiter = waiter
        machine = Mutex(LoadTaskState(request: request))
        var defaults = loader.configuration.timeouts
        // The outer load's limit on the whole holds for what lies inside, too; a second one of the same length would only race it.
        if parent != nil { defaults.total = nil }
        timer = LoadTimer(clock: loader.configuration.clock, timeouts: request.timeouts.filled(by: defaults))
    }

    /// Nobody can resume it any more: where it was suspended, its load is stopped. The delegate can't be told: there is no task to name.
    deinit {
        guard let (children, handlerLoad) = machine.withLock({ $0.isToStart ? nil : $0.ended() }) else { return }
        handlerLoad?.abandon()
        timer.stop()
        let queuedCount = queueWaits.withLock { $0.end() }
        if queuedCount > 0 { parent?.countQueued(-queuedCount) }
        for child in children { child.stopLoading() }
        if parent == nil { originalRequest.body?.discard() }
    }

    // MARK: What is known of it

    public enum State: Hashable, Sendable {
        /// Made, not yet started by ``LoadTask/resume()``.
        case created, running, suspended, ended
    }

    public var state: State {
        machine.withLock { machine in
            switch machine.phase {
            case .created: .created
            case .ended: .ended
            case .launching, .running: machine.isSuspended ? .suspended : .running
            }
        }
    }

    /// What is loaded now: the original request, or where redirects led, in canonical form.
    public var currentRequest: Request { machine.withLock { $0.request } }
    public var progress: LoadProgress { counts.progress }
    public var metrics: LoadMetrics { machine.withLock { $0.metrics } }
    public var priority: LoadPriority { originalRequest.priority }
    /// How many loads this one lies inside of; 0 for a caller's own.
    public var nestingDepth: Int { originalRequest.nestingDepth }

    // MARK: What the caller does

    /// Starts the task, or lets it go on after ``suspend()`` or a delegate's `.pause`.
    ///
    /// Events may come before this returns, on this thread: a load whose handler needs nothing from outside may even end. So hold no lock that the
    /// delegate takes.
    public func resume() {
        if !start() {
            resetIdleTimer()
            let (handlerLoad, deferred) = machine.withLock { ($0.unsuspend(self), delegateSerializer.endSuspension()) }
            handlerLoad?.resumeLoad()
            if deferred.enters { releaseDelegate() }
            if !deferred.hasDeliveries { readMore() }
            (delegate as? any EventHoldingDelegate)?.taskWasResumed(self)
        }
    }

    /// - Returns: `false` where it was started before.
    private func start() -> Bool {
        guard let chain = machine.withLock({ start(&$0) }) else { return false }
        timer.start(self)
        launch(originalRequest, chain)
        return true
    }

    /// Asks for nothing more until ``resume()``: the next delivery of the handler's is answered with a pause, so that it stops fetching.
    ///
    /// That delivery, and whatever else comes, waits for the resume; only failures and news of loads inside do not. A call that is with the
    /// delegate just now ends in its own time.
    public func suspend() {
        suspend(unlessResumedSince: nil)
    }

    var resumeCount: Int { machine.withLock { $0.resumeCount } }

    /// - Parameter count: what ``resumeCount`` was when the reason to suspend arose.
    func suspend(unlessResumedSince count: Int?) {
        machine.withLock { machine in
            if machine.suspend(unlessResumedSince: count) { delegateSerializer.beginSuspension() }
        }
    }

    /// - Returns: the clients behind each attempt, where the first is to be launched.
    private func start(_ machine: inout LoadTaskState) -> (any ProtocolClient)? {
        guard machine.isToStart else { return nil }
        let chain = makeChain()
        machine.start(self, chain: chain)
        _ = delegateSerializer.endSuspension()  // before its start there is nothing to hold back
        return chain
    }

    /// Ends the load with ``LoadError/Code/cancelled``. Once it has ended, does nothing.
    public func cancel() {
        end(with: LoadError(.cancelled, message: "the load of \(originalRequest.url.shortDescription) was cancelled"))
    }

    // MARK: Attempts

    private func makeChain() -> any ProtocolClient {
        let client = DelegateClient(task: self)
        let authentication = AuthenticationStage(control: self, next: client)
        return RedirectStage(policy: loader.configuration.redirects, control: self, next: authentication)
    }

    private typealias Failed = [(deferred: LazyHandlers, error: LoadError)]

    /// - Parameters:
    ///   - chain: the clients behind each attempt.
    ///   - failed: handlers that could not be made for the first request.
    private func launch(_ first: Request, _ chain: any ProtocolClient, failed: Failed = []) {
        var (upcoming, failed) = (Optional(first), failed)
        while let request = upcoming {
            do throws(LoadError) {
                switch try loader.find(request, failed: failed) {
                case .handler(let entry): start(request, with: entry, chain)
                case .deferred(let deferred): return launch(request, chain, after: deferred, failed: failed)
                }
            } catch {
                return end(with: error)
            }
            upcoming = machine.withLock { $0.takeSuccessor() }
            failed = []
        }
    }

    /// Launches when the handlers have been made; until then no attempt runs, and the task can be ended at any time.
    private func launch(_ request: Request, _ chain: any ProtocolClient, after deferred: LazyHandlers, failed: Failed) {
        deferred.resolve { [self] outcome in
            resetIdleTimer()
            switch outcome {
            case .success: launch(request, chain, failed: failed)
            case .failure(let error):
                loader.report(error, of: deferred)
                launch(request, chain, failed: failed + [(deferred, error)])
            }
        }
    }

    /// Starts a load of `request` by the handler that takes it.
    private func start(_ request: Request, with entry: RegisteredHandler, _ chain: any ProtocolClient) {
        let canonical = entry.handler.canonicalRequest(for: request)
        let handlerLoad = HandlerLoad(
            handler: entry.handler.identifier, traits: entry.handler.traits, request: canonical, offersCached: false,
            interimLimit: loader.configuration.interimResponseLimit, next: chain,
            observer: HandlerLoadRecord(entry: entry, loader: loader, task: self))
        guard machine.withLock({ $0.begin(handlerLoad, for: canonical) }) else { return entry.endLoad() }
        let load = entry.handler.makeLoad(for: canonical, cachedResponse: nil, client: handlerLoad)
        handlerLoad.start(load, isAwaited: waiter?.isCurrent == true)
    }

    /// Starts the task and sleeps until it has ended, and does its work meanwhile where it can. In the thread of its waiter.
    ///
    /// Where the thread may not wait, a load that could change something at a server (RFC 9110 §9.2.1) is not started.
    ///
    /// - Throws: ``LoadError/Code/noResources`` where the thread may not wait.
    func run(_ waiter: LoadWaiter) throws(LoadError) {
        let isSafe = originalRequest.method.isSafe
        if isSafe { resume() }
        guard !waiter.isOver else { return }
        guard !NonBlockingThreads.includeCurrent else {
            throw LoadError(
                .noResources,
                message:
                    "\(originalRequest.url.shortDescription) can't be waited for inside a call of a load, on the thread of an event loop; "
                    + "be called on DeliveryQueue.background, wait in another thread, or await it")
        }
        try LoadWorker.waiting { () throws(LoadError) in
            if !isSafe { resume() }
            while !waiter.isOver {
                if machine.withLock({ $0.handlerLoad })?.carryOn(for: waiter) != true { try waiter.wait() }
            }
        }
    }

    /// The reader has room again.
    func readMore() {
        resetIdleTimer()
        machine.withLock { $0.handlerLoad }?.resume()
        machine.withLock { $0.keepWhileRunning(self) }
    }

    /// The attempt has stopped delivering until the reader has room.
    fileprivate func handlerLoadPaused() {
        machine.withLock { $0.keepWhileRunning(self) }
    }

    /// Whether whoever delivers an event just now hands the gate over, where a run of data keeps it: the attempt, or the end that is coming.
    var handlerLoadYieldsDelegate: Bool { machine.withLock { $0.handlerLoad }?.yieldsDelegate() ?? true }

    /// Whether the caller wants nothing delivered; unlike ``state``, also after the handler's part has ended.
    var isSuspended: Bool { machine.withLock { $0.isSuspended } }

    /// Why nothing comes, where the running load knows.
    var stallReason: String? { queueWait?.reason ?? machine.withLock { $0.handlerLoad }?.stallReason }

    /// Whether it is the caller who keeps the load from going on.
    var isWaitingForCaller: Bool {
        openQuestions.load(ordering: .relaxed) > 0
            || machine.withLock { $0.isSuspended || $0.handlerLoad?.isPaused == true }
    }

    // MARK: Queues

    /// What the load waits for in a queue; `nil` while it waits in none.
    var queueWait: QueueWait? { queueWaits.withLock { $0.first } }

    /// When the load has waited in a queue for as long as it may; `nil`: no time is set.
    var queueDeadline: Duration? { queueWaits.withLock { $0.deadline } }

    /// What it has waited for in a queue for as long as it may.
    func expiredQueueWait(at time: Duration) -> QueueWait? { queueWaits.withLock { $0.expired(at: time) } }

    /// Whether this load, or one inside it, waits in a queue.
    var isQueued: Bool { queuedCount.load(ordering: .relaxed) > 0 }

    func enterQueue(_ wait: QueueWait, _ handlerLoad: ObjectIdentifier) {
        let time = timer.preciseNow
        guard queueWaits.withLock({ $0.enter(handlerLoad, wait, at: time) }) else { return }
        countQueued(1)
        timer.deadlineChanged(self)
    }

    /// A deadline that is no longer kept brings the timer to look at the next one.
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

    // MARK: Events that concern the task itself

    func resetIdleTimer() {
        timer.resetIdleTimer()
        parent?.resetIdleTimer()
    }

    func note(_ change: (inout LoadMetrics, Duration) -> Void) {
        let time = timer.elapsed
        machine.withLock { change(&$0.metrics, time) }
    }

    /// As ``resetIdleTimer()`` and ``note(_:)``, with one look at the clock.
    func resetIdleTimer(_ change: (inout LoadMetrics, Duration) -> Void) {
        let time = timer.timedActivity()
        parent?.resetIdleTimer()
        machine.withLock { change(&$0.metrics, time) }
    }

    /// The end has come; the delegate hears it once.
    func ended(with error: LoadError?) {
        guard let (children, handlerLoad) = machine.withLock({ $0.ended() }) else { return }
        handlerLoad?.abandon()
        note { $0.end = $1 }
        leaveQueues()
        timer.stop()
        for child in children { child.stopLoading() }
        if parent == nil { originalRequest.body?.discard() }
        notifyDelegateOfEnd(error)
    }
}

extension LoadTask: LoadTaskControl {
    package func follow(_ request: Request, wasDeferred: Bool) {
        var request = request
        (request.visitedHandlers, request.nestingDepth) = (originalRequest.visitedHandlers, originalRequest.nestingDepth)
        for child in machine.withLock({ $0.takeChildren() }) { child.stopLoading() }
        let (handlerLoad, chain) = machine.withLock { machine in (machine.handlerLoad, machine.follow(request) ? machine.chain : nil) }
        if wasDeferred { handlerLoad?.takeRedirect() }
        if let chain { launch(request, chain) }
    }

    package func ask(_ proposed: Request, _ response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void) {
        notifyDelegate(.redirect(proposed, response, decide))
    }

    package func declineRedirect() {
        resetIdleTimer()
        machine.withLock { $0.handlerLoad }?.declineRedirect()
    }

    package func isAwaitingCaller(_ isAsked: Bool) {
        openQuestions.add(isAsked ? 1 : -1, ordering: .relaxed)
        timer.resetIdleTimer()
        parent?.isAwaitingCaller(isAsked)
    }

    package func end(with error: LoadError) {
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

// MARK: Loads inside this one

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
                        "\(request.url.shortDescription) lies in \(inner.nestingDepth) other loads; the limit is \(limit): take layers off"),
                client: client)
        }
        // NEST-01
        inner.visitedHandlers = visitedHandlers(of: outer, and: request)
        let load = NestedLoad(inner, outer: self, client: client)
        guard machine.withLock({ $0.adopt(load) }) else {
            return FailedLoad(LoadError(.cancelled, message: "the load around \(request.url.shortDescription) has ended"), client: client)
        }
        return load
    }

    func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        var next = request
        (next.visitedHandlers, next.nestingDepth) = (visitedHandlers(of: currentRequest, and: request), nestingDepth)
        return NextHandlerLoad(next, of: self, client: client)
    }

    /// Of a request that is made on behalf of `outer`: its marks, that of its handler, and those of the handlers between that and whoever asks.
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

/// Whose load an attempt is, for the registry's count, the loader's log and the delegate's gate.
private struct HandlerLoadRecord: HandlerLoadObserver {
    let entry: RegisteredHandler
    let loader: Loader
    weak let task: LoadTask?

    func handlerLoadObserved(violationOf rule: ContractRule, by handler: String, isFirst: Bool) {
        loader.report(violationOf: rule, by: handler, logging: isFirst)
    }

    func handlerLoadRepeated(_ counts: [ContractRule: Int], by handler: String) { loader.report(repeated: counts, by: handler) }

    func handlerLoadOwesDelegate() { task?.yieldDelegate() }

    func handlerLoadPaused() { task?.handlerLoadPaused() }

    func handlerLoadEnded() { entry.endLoad() }

    func handlerLoadEnteredQueue(_ wait: QueueWait, _ handlerLoad: ObjectIdentifier) { task?.enterQueue(wait, handlerLoad) }

    func handlerLoadLeftQueue(_ handlerLoad: ObjectIdentifier, mayReturn: Bool) { task?.leaveQueue(handlerLoad, mayReturn: mayReturn) }
}
