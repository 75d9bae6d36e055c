// SPDX-License-Identifier: Apache-2.0

/// The life of a task, through its attempts: which one runs, and who reports the end.
struct LoadTaskMachine: ~Copyable {
    enum Phase {
        case created
        /// A handler is looked up or started. A redirect that is followed meanwhile waits in `successor`, so that redirects do not nest.
        case launching(Attempt?, successor: Request?)
        case running(Attempt)
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

    var attempt: Attempt? {
        switch phase {
        case .launching(let attempt, _): attempt
        case .running(let attempt): attempt
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

    /// A handler was found for `request`, and `attempt` is about to be started.
    ///
    /// - Returns: whether to go on.
    mutating func begin(_ attempt: Attempt, for request: Request) -> Bool {
        guard case .launching = phase else { return false }
        phase = .launching(attempt, successor: nil)
        self.request = request
        if isSuspended { attempt.suspend() }
        return true
    }

    /// The attempt's start has returned.
    ///
    /// - Returns: the request to be launched next, where a redirect was followed meanwhile.
    mutating func launched() -> Request? {
        guard case .launching(let attempt, let successor) = phase else { return nil }
        if let successor {
            phase = .launching(nil, successor: nil)
            return successor
        }
        if let attempt { phase = .running(attempt) }
        return nil
    }

    /// A redirect is followed.
    ///
    /// - Returns: whether the caller is to launch it; otherwise whoever launches now does.
    mutating func follow(_ request: Request) -> Bool {
        guard !isEnding else { return false }
        switch phase {
        case .launching(let attempt, _):
            phase = .launching(attempt, successor: request)
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
        attempt?.suspend()
        return true
    }

    /// - Returns: the attempt, where it is to be resumed.
    mutating func unsuspend(_ task: LoadTask) -> Attempt? {
        isSuspended = false
        keepWhileRunning(task)
        resumeCount &+= 1
        guard let attempt, attempt.unsuspend() else { return nil }
        return attempt
    }

    /// The attempt has paused, or goes on. Called after each of these, so that the last call sees what holds.
    mutating func keepWhileRunning(_ task: LoadTask) {
        running = isOver || isToStart || isSuspended || attempt?.isHeldByReader == true ? nil : task
    }

    enum End {
        case nothing
        /// End this attempt; the end comes through its chain.
        case through(Attempt)
        /// No attempt runs: tell the caller.
        case direct
    }

    /// Someone other than the handler ends the load.
    mutating func end() -> End {
        switch phase {
        case .ended: return .nothing
        case .running(let attempt), .launching(let attempt?, successor: nil):
            isEnding = true
            return .through(attempt)
        case .created, .launching:
            return .direct
        }
    }

    /// The end has come to the end of the chain.
    ///
    /// - Returns: the loads inside this one and its attempt, to be stopped; `nil` where it had ended before.
    mutating func ended() -> (children: [NestedLoad], attempt: Attempt?)? {
        guard !isOver else { return nil }
        let attempt = self.attempt
        phase = .ended
        (chain, running) = (nil, nil)
        return (takeChildren(), attempt)
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
