// SPDX-License-Identifier: Apache-2.0

/// The life of a task, through its attempts: which one runs, and who reports the end.
struct LoadTaskState: ~Copyable {
    enum Phase {
        case created
        /// A handler is looked up or started. A redirect that is followed meanwhile waits in `successor`, so that redirects do not nest.
        case launching(HandlerLoad?, successor: Request?)
        case running(HandlerLoad)
        case ended
    }

    private(set) var phase = Phase.created
    private(set) var request: Request
    private(set) var chain: (any ProtocolClient)?
    private(set) var isSuspended = false
    /// The task itself, from its start to its end but while it is suspended or paused: who alone can resume it then keeps it.
    private var running: LoadTask?
    var metrics = LoadMetrics()
    private(set) var resumeCount = 0
    /// Someone ends the running attempt: no redirect of its is followed any more.
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

    /// The first attempt is to be launched.
    mutating func start(_ task: LoadTask, chain: any ProtocolClient) {
        phase = .launching(nil, successor: nil)
        running = task
        self.chain = chain
        isSuspended = false
    }

    /// A handler was found for `request`, and `handlerLoad` is about to be started.
    ///
    /// - Returns: whether to go on.
    mutating func begin(_ handlerLoad: HandlerLoad, for request: Request) -> Bool {
        guard case .launching = phase else { return false }
        phase = .launching(handlerLoad, successor: nil)
        self.request = request
        if isSuspended { handlerLoad.suspend() }
        return true
    }

    /// The attempt's start has returned.
    ///
    /// - Returns: the request to be launched next, where a redirect was followed meanwhile.
    mutating func takeSuccessor() -> Request? {
        guard case .launching(let handlerLoad, let successor) = phase else { return nil }
        if let successor {
            phase = .launching(nil, successor: nil)
            return successor
        }
        if let handlerLoad { phase = .running(handlerLoad) }
        return nil
    }

    /// A redirect is followed.
    ///
    /// - Returns: whether the caller is to launch it; otherwise whoever launches now does.
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

    /// - Parameter count: what ``resumeCount`` was when the reason to suspend arose.
    /// - Returns: whether it is suspended now.
    mutating func suspend(unlessResumedSince count: Int?) -> Bool {
        guard count == nil || count == resumeCount else { return false }
        isSuspended = true
        running = nil
        handlerLoad?.suspend()
        return true
    }

    /// - Returns: the attempt, where it is to be resumed.
    mutating func unsuspend(_ task: LoadTask) -> HandlerLoad? {
        isSuspended = false
        keepWhileRunning(task)
        resumeCount &+= 1
        guard let handlerLoad, handlerLoad.unsuspend() else { return nil }
        return handlerLoad
    }

    /// The attempt has paused, or goes on. Called after each of these, so that the last call sees what holds.
    mutating func keepWhileRunning(_ task: LoadTask) {
        running = isOver || isToStart || isSuspended || handlerLoad?.isHeldByReader == true ? nil : task
    }

    enum End {
        case nothing
        /// End this attempt; the end comes through its chain.
        case through(HandlerLoad)
        /// No attempt runs: tell the caller.
        case direct
    }

    /// Someone other than the handler ends the load.
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

    /// The end has come to the end of the chain.
    ///
    /// - Returns: the loads inside this one and its attempt, to be stopped; `nil` where it had ended before.
    mutating func ended() -> (children: [NestedLoad], handlerLoad: HandlerLoad?)? {
        guard !isOver else { return nil }
        let handlerLoad = self.handlerLoad
        phase = .ended
        (chain, running) = (nil, nil)
        return (takeChildren(), handlerLoad)
    }

    /// The loads inside the attempt that is over.
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
