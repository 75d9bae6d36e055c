// SPDX-License-Identifier: Apache-2.0

/// The state of a task across its handler loads: which one runs, and who reports the end.
struct LoadTaskState: ~Copyable {
    /// `created` → `findingHandler` → `starting` → `running` → `ended`. A redirect leads from `running` back to
    /// `findingHandler`. One that is followed during the start waits in `successor` until the start has returned, so
    /// that redirects do not nest. The end may come in each phase.
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
    /// Retains the task from its start to its end, except while it is suspended or paused. In those states only the
    /// caller, who alone can resume it, retains it.
    private var running: LoadTask?
    var metrics = LoadMetrics()
    private(set) var resumeCount = 0
    /// The running handler load is being ended. Its redirects are no longer followed.
    private var isEnding = false
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
    mutating func start(_ task: LoadTask) -> Bool {
        guard case .created = phase else { return false }
        phase = .findingHandler
        running = task
        isSuspended = false
        return true
    }

    /// A handler was found for `request`, and `handlerLoad` is about to start.
    ///
    /// - Returns: whether to continue.
    mutating func begin(_ handlerLoad: HandlerLoad, for request: Request) -> Bool {
        guard case .findingHandler = phase else { return false }
        phase = .starting(handlerLoad, successor: nil)
        self.request = request
        if isSuspended { handlerLoad.suspend() }
        return true
    }

    /// The start of the handler load has returned.
    ///
    /// - Returns: the request to find a handler for next, if a redirect was followed meanwhile.
    mutating func started() -> Request? {
        guard case .starting(let handlerLoad, let successor) = phase else { return nil }
        phase = successor == nil ? .running(handlerLoad) : .findingHandler
        return successor
    }

    /// Follows a redirect of the handler load.
    ///
    /// - Parameter time: since the load's start.
    /// - Returns: whether the caller must find the handler; otherwise the start in progress does.
    mutating func follow(_ request: Request, at time: Duration) -> Bool {
        guard !isEnding else { return false }
        switch phase {
        case .starting(let handlerLoad, _): phase = .starting(handlerLoad, successor: request)
        case .running: phase = .findingHandler
        case .created, .findingHandler, .ended: return false
        }
        metrics.noteRedirect(at: time)
        if case .findingHandler = phase { return true } else { return false }
    }

    /// - Parameter count: the value of ``resumeCount`` when the reason to suspend arose.
    /// - Returns: whether the task is suspended now.
    mutating func suspend(unlessResumedSince count: Int?) -> Bool {
        guard count == nil || count == resumeCount else { return false }
        isSuspended = true
        running = nil
        handlerLoad?.suspend()
        return true
    }

    /// - Returns: the handler load, if it must be resumed.
    mutating func unsuspend(_ task: LoadTask) -> HandlerLoad? {
        isSuspended = false
        keepWhileRunning(task)
        resumeCount &+= 1
        guard let handlerLoad, handlerLoad.unsuspend() else { return nil }
        return handlerLoad
    }

    /// The handler load has paused or continued. Called after each of these, so that the last call sees the final
    /// state.
    mutating func keepWhileRunning(_ task: LoadTask) {
        running = isOver || isCreated || isSuspended || handlerLoad?.isHeldByReader == true ? nil : task
    }

    enum End {
        case nothing
        /// End this handler load. The end comes through its clients.
        case through(HandlerLoad)
        /// No handler load runs: notify the caller directly.
        case direct
    }

    /// Ends the load for a reason other than the handler's.
    mutating func end() -> End {
        switch phase {
        case .ended: return .nothing
        case .running(let handlerLoad), .starting(let handlerLoad, successor: nil):
            isEnding = true
            return .through(handlerLoad)
        case .created, .findingHandler, .starting:
            return .direct
        }
    }

    /// The end has passed through all clients.
    ///
    /// - Returns: the nested loads and the handler load, which must be stopped; `nil` if the task had ended before.
    mutating func ended() -> (children: [NestedLoad], handlerLoad: HandlerLoad?)? {
        guard !isOver else { return nil }
        let handlerLoad = self.handlerLoad
        phase = .ended
        running = nil
        return (takeChildren(), handlerLoad)
    }

    /// Removes and returns the loads that are nested in the handler load that is over.
    mutating func takeChildren() -> [NestedLoad] {
        guard !children.isEmpty else { return [] }
        defer { children = [:] }
        return Array(children.values)
    }

    mutating func adopt(_ child: NestedLoad) -> Bool {
        guard !isOver else { return false }
        children[ObjectIdentifier(child.task)] = child
        return true
    }

    mutating func release(_ child: LoadTask) {
        children[ObjectIdentifier(child)] = nil
    }
}
