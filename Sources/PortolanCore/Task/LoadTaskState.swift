// SPDX-License-Identifier: Apache-2.0

/// The state of a task: its phase, its current request and handler load, and its metrics.
struct LoadTaskState: ~Copyable {
    /// `created` → `findingHandler` → `starting` → `running` → `ended`. A redirect leads from `running` back to
    /// `findingHandler`. If a redirect is followed during the start, its request waits in `successor` until the start
    /// has returned, so that starts do not nest. The end can come in each phase.
    enum Phase {
        case created
        /// A handler is being looked up or made.
        case findingHandler
        case starting(HandlerLoad, successor: Request?)
        case running(HandlerLoad)
        case ended
    }

    private(set) var phase = Phase.created
    private(set) var request: Request
    private(set) var isSuspended = false
    /// Whether the loader retains the task: from its start to its end, except while it is suspended or paused.
    private var isRetained = false
    var metrics = LoadMetrics()
    private(set) var resumeCount = 0
    /// The task is ending the handler load, whose redirects are no longer followed.
    private var isEnding = false
    /// Why the task ends without another attempt.
    private(set) var finalError: LoadError?
    /// The number of attempts after the first one (``RetryPolicy``).
    private(set) var retryCount = 0
    private var children: [ObjectIdentifier: NestedLoad] = [:]

    init(request: Request) {
        self.request = request
    }

    var handlerLoad: HandlerLoad? {
        switch phase {
        case .starting(let handlerLoad, _), .running(let handlerLoad): handlerLoad
        case .created, .findingHandler, .ended: nil
        }
    }

    var isOver: Bool {
        if case .ended = phase { true } else { false }
    }

    var isCreated: Bool {
        if case .created = phase { true } else { false }
    }

    /// Starts the task, unless it was started before.
    ///
    /// - Returns: whether the caller must find the first handler.
    mutating func start() -> Bool {
        guard case .created = phase else { return false }
        phase = .findingHandler
        isRetained = true
        isSuspended = false
        return true
    }

    private mutating func setRetained(_ isRetained: Bool, _ task: LoadTask) {
        guard isRetained != self.isRetained else { return }
        self.isRetained = isRetained
        task.loader.startedTasks.setRetained(isRetained, task)
    }

    /// A handler was found for `request`, and `handlerLoad` is about to start.
    ///
    /// - Returns: whether the caller must start it. `false` if the task has ended.
    mutating func willStart(_ handlerLoad: HandlerLoad, for request: Request) -> Bool {
        guard case .findingHandler = phase else { return false }
        phase = .starting(handlerLoad, successor: nil)
        self.request = request
        if isSuspended { handlerLoad.suspend() }
        return true
    }

    /// The start of the handler load has returned.
    ///
    /// - Returns: the next request, if a redirect was followed during the start.
    mutating func startLoadingDidReturn() -> Request? {
        guard case .starting(let handlerLoad, let successor) = phase else { return nil }
        phase = successor == nil ? .running(handlerLoad) : .findingHandler
        return successor
    }

    /// Follows a redirect of the handler load.
    ///
    /// - Parameter time: the time since the load's start.
    /// - Returns: whether the caller must find the next handler. `false` if the code that starts the handler load does
    ///   that, or if the redirect is not followed.
    mutating func follow(_ request: Request, at time: Duration) -> Bool {
        guard !isEnding else { return false }
        switch phase {
        case .starting(let handlerLoad, _): phase = .starting(handlerLoad, successor: request)
        case .running: phase = .findingHandler
        case .created, .findingHandler, .ended: return false
        }
        metrics.recordRedirect(at: time, isUpgrade: request.isUpgradedToHTTPS)
        if case .findingHandler = phase { return true } else { return false }
    }

    /// - Parameter count: the value of ``resumeCount`` when the reason to suspend arose.
    /// - Returns: `false` if the task was resumed after the reason arose, and is therefore not suspended.
    mutating func suspend(_ task: LoadTask, unlessResumedSince count: Int?) -> Bool {
        guard count == nil || count == resumeCount else { return false }
        isSuspended = true
        setRetained(false, task)
        handlerLoad?.suspend()
        return true
    }

    /// - Returns: the handler load, if it must be resumed.
    mutating func unsuspend(_ task: LoadTask) -> HandlerLoad? {
        isSuspended = false
        updateRetention(task)
        resumeCount &+= 1
        guard let handlerLoad, handlerLoad.unsuspend() else { return nil }
        return handlerLoad
    }

    /// Retains or releases the task, after the handler load has paused or continued.
    mutating func updateRetention(_ task: LoadTask) {
        setRetained(!(isOver || isCreated || isSuspended || handlerLoad?.isPausedByReader == true), task)
    }

    enum EndAction {
        /// None: the task has ended.
        case none
        /// End this handler load. The end then reaches the task through the chain of clients.
        case endHandlerLoad(HandlerLoad)
        /// No handler load runs. End the task directly.
        case finish
    }

    /// The handler load has failed, or its response is not delivered, and the request will be loaded again. Until then,
    /// the task has no handler load.
    ///
    /// - Returns: `false` if the task must end.
    mutating func beginAttempt(countsAsRetry: Bool) -> Bool {
        guard finalError == nil else { return false }
        switch phase {
        case .starting, .running:
            phase = .findingHandler
            isEnding = false
            if countsAsRetry { retryCount += 1 }
            return true
        case .created, .findingHandler, .ended: return false
        }
    }

    /// Ends the load for another reason than an event of the handler.
    ///
    /// - Parameter isFinal: whether no other attempt may follow.
    mutating func end(with error: LoadError, isFinal: Bool) -> EndAction {
        if isFinal { finalError = finalError ?? error }
        switch phase {
        case .ended: return .none
        case .running(let handlerLoad), .starting(let handlerLoad, successor: nil):
            isEnding = true
            return .endHandlerLoad(handlerLoad)
        case .created, .findingHandler, .starting:
            return .finish
        }
    }

    /// Ends the task.
    ///
    /// - Returns: the nested loads and the handler load, which the caller must stop; `nil` if the task had ended
    ///   before.
    mutating func finish() -> (children: [NestedLoad], handlerLoad: HandlerLoad?)? {
        guard !isOver else { return nil }
        let handlerLoad = self.handlerLoad
        phase = .ended
        return (removeChildren(), handlerLoad)
    }

    /// Removes and returns the nested loads.
    mutating func removeChildren() -> [NestedLoad] {
        guard !children.isEmpty else { return [] }
        defer { children = [:] }
        return Array(children.values)
    }

    /// - Returns: `false` if the task has ended.
    mutating func addChild(_ child: NestedLoad) -> Bool {
        guard !isOver else { return false }
        children[ObjectIdentifier(child.task)] = child
        return true
    }

    mutating func removeChild(_ child: LoadTask) {
        children[ObjectIdentifier(child)] = nil
    }
}
