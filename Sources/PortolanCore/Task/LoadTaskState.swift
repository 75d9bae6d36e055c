// SPDX-License-Identifier: Apache-2.0

/// The state of a task across its handler loads: which one runs, and who reports the end.
struct LoadTaskState: ~Copyable {
    enum Phase {
        case created
        /// A handler is being looked up or started. A redirect that is followed meanwhile waits in `successor`, so that
        /// redirects do not nest.
        case launching(HandlerLoad?, successor: Request?)
        case running(HandlerLoad)
        case ended
    }

    private(set) var phase = Phase.created
    private(set) var request: Request
    private(set) var chain: (any ProtocolClient)?
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
        case .launching(let handlerLoad, _): handlerLoad
        case .running(let handlerLoad): handlerLoad
        case .created, .ended: nil
        }
    }

    var isOver: Bool {
        if case .ended = phase { true } else { false }
    }

    var isToStart: Bool {
        if case .created = phase { true } else { false }
    }

    /// Prepares the launch of the first handler load.
    mutating func start(_ task: LoadTask, chain: any ProtocolClient) {
        phase = .launching(nil, successor: nil)
        running = task
        self.chain = chain
        isSuspended = false
    }

    /// A handler was found for `request`, and `handlerLoad` is about to start.
    ///
    /// - Returns: whether to continue.
    mutating func begin(_ handlerLoad: HandlerLoad, for request: Request) -> Bool {
        guard case .launching = phase else { return false }
        phase = .launching(handlerLoad, successor: nil)
        self.request = request
        if isSuspended { handlerLoad.suspend() }
        return true
    }

    /// The start of the handler load has returned.
    ///
    /// - Returns: the request to launch next, if a redirect was followed meanwhile.
    mutating func takeSuccessor() -> Request? {
        guard case .launching(let handlerLoad, let successor) = phase else { return nil }
        if let successor {
            phase = .launching(nil, successor: nil)
            return successor
        }
        if let handlerLoad { phase = .running(handlerLoad) }
        return nil
    }

    /// Follows a redirect.
    ///
    /// - Returns: whether the caller must launch it; otherwise the launch in progress does.
    mutating func follow(_ request: Request) -> Bool {
        guard !isEnding else { return false }
        switch phase {
        case .launching(let handlerLoad, _):
            phase = .launching(handlerLoad, successor: request)
            metrics.redirectCount += 1
            return false
        case .running:
            phase = .launching(nil, successor: nil)
            metrics.redirectCount += 1
            return true
        case .created, .ended: return false
        }
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
        running = isOver || isToStart || isSuspended || handlerLoad?.isHeldByReader == true ? nil : task
    }

    enum End {
        case nothing
        /// End this handler load. The end comes through its chain.
        case through(HandlerLoad)
        /// No handler load runs: notify the caller directly.
        case direct
    }

    /// Ends the load for a reason other than the handler's.
    mutating func end() -> End {
        switch phase {
        case .ended: return .nothing
        case .running(let handlerLoad), .launching(let handlerLoad?, successor: nil):
            isEnding = true
            return .through(handlerLoad)
        case .created, .launching:
            return .direct
        }
    }

    /// The end has passed through the whole chain.
    ///
    /// - Returns: the nested loads and the handler load, which must be stopped; `nil` if the task had ended before.
    mutating func ended() -> (children: [NestedLoad], handlerLoad: HandlerLoad?)? {
        guard !isOver else { return nil }
        let handlerLoad = self.handlerLoad
        phase = .ended
        (chain, running) = (nil, nil)
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
