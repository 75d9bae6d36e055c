// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanHandlers

/// Plays a script: the handler, the caller and the delegate of a load act as the script says, and a model computes the
/// expected results.
final class EventPlay: @unchecked Sendable {  // … because a case runs on a single thread
    let traits: HandlerLoadModel.Traits
    let isQueued: Bool
    var source: ByteSource
    var model = TaskModel()
    var received: [DelegateEvent] = []
    private var violations: [ContractRule] = []
    private var task: LoadTask?
    private var loads: [PlayLoad] = []
    /// Whether all of the handler's loads have ended, as the registry counts them.
    private var handlerDrain: HandlerDrain?
    /// The delegate's return values for the events that are being delivered, the innermost last.
    var returnedFlows: [Flow] = []
    /// The number of steps that are running, one inside the other.
    var depth = 0
    var finding: FuzzFinding?
    /// The jobs of the delegate's queue.
    private var jobs: [@Sendable () -> Void] = []
    /// The decisions, challenges and body requests that the delegate has not responded to yet.
    var decisions: [(handlerLoad: Int, request: Request, decide: @Sendable (RedirectDecision) -> Void)] = []
    var openChallenges: [(number: Int, challenge: AuthenticationChallenge)] = []
    var bodyRequests: [@Sendable (Body?) -> Void] = []
    /// How many times each request of the handlers got a response.
    var responseCounts: [Int] = []

    static let depthLimit = 3

    init(_ input: [UInt8]) {
        source = ByteSource(input)
        let mode = source.next()
        traits = HandlerLoadModel.Traits(allowsParts: mode & 1 != 0, isBlocking: mode & 2 != 0, hasBody: mode & 4 == 0)
        isQueued = mode & 8 != 0
    }

    func run() throws(FuzzFinding) {
        var configuration = Loader.Configuration()
        configuration.timeouts = Timeouts()
        configuration.redirects.limit = TaskModel.redirectLimit
        configuration.bufferSize = 16
        configuration.logger = SilentLog.logger
        configuration.onViolation = { [self] rule, _ in violations.append(rule) }
        let loader = Loader(configuration: configuration, registry: ProtocolRegistry())
        let registration = loader.handlers.register(PlayHandler(play: self))
        let queue = isQueued ? DeliveryQueue { [self] job in jobs.append(job) } : .immediate
        guard let request = try? Request("play://host/0", method: traits.hasBody ? .get : .head) else { return }
        let task = loader.task(for: request, delegate: PlayDelegate(play: self), on: queue)
        self.task = task
        task.resume()
        try compare()
        while !source.isEmpty {
            step()
            try compare()
        }
        model.cancel()
        task.cancel()
        try compare()
        resume()  // because an end without a failure waits while the task is suspended
        model.gate.isDeliveringWaiting = false
        try compare()
        handlerDrain = loader.handlers.unregister(registration)
    }

    /// Releases all objects. Each request must then have its response, and each load its end.
    func releaseAll() throws(FuzzFinding) {
        while !jobs.isEmpty { jobs.removeFirst()() }
        for decide in bodyRequests { decide(nil) }
        (bodyRequests, decisions, openChallenges) = ([], [], [])
        for load in loads { load.release() }
        while !jobs.isEmpty { jobs.removeFirst()() }
        try require(task?.state == .ended, "the load has not ended after a cancel")
        try require(responseCounts.allSatisfy { $0 == 1 }, "the requests of the handler got \(responseCounts) responses")
        try require(handlerDrain?.isFinished == true, "the handler's loads have ended, but the registry still counts one as running")
        (task, handlerDrain, loads) = (nil, nil, [])
    }

    // MARK: Steps

    private enum Action {
        case event(EventKind)
        case resume, suspend, cancel, decide, respondToChallenge, runJob
    }

    private static let actions: [Action] =
        [
            .response, .data, .data, .finish, .failure, .interim, .trailers, .redirect, .redirect, .confirmation, .challenge,
            .challengeWithdrawn, .sent, .step, .newBody,
        ].map(Action.event) + [.resume, .resume, .suspend, .cancel, .decide, .respondToChallenge, .runJob]

    func step() {
        depth += 1
        let wasDelivering = model.gate.isDeliveringWaiting
        defer {
            depth -= 1
            model.gate.isDeliveringWaiting = wasDelivering
        }
        let byte = source.next()
        switch Self.actions[Int(byte) % Self.actions.count] {
        case .event(let kind):
            guard let last = loads.indices.last else { return }
            emit(kind, from: byte >= 0xF0 ? source.next(below: UInt8(loads.count)) : last)
        case .resume: resume()
        case .suspend:
            model.suspend()
            task?.suspend()
        case .cancel:
            model.cancel()
            task?.cancel()
        case .decide: decide()
        case .respondToChallenge: respondToChallenge()
        case .runJob: if !jobs.isEmpty { jobs.removeFirst()() }
        }
    }

    private func resume() {
        let readsMore = model.unsuspend()
        task?.resume()
        if readsMore { model.readMore() }
    }

    private func emit(_ kind: EventKind, from index: Int) {
        let load = loads[index]
        let number = source.next(below: 16)
        let verdict = model.check(kind, of: index)
        returnedFlows.append(.keepGoing)
        if verdict == .delivered, !enqueueExpected(kind, of: index, number), kind.returnsFlow {
            returnedFlows[returnedFlows.count - 1] = .pause
        }
        let flow = load.call(kind, number)
        let returned = returnedFlows.removeLast()
        let expected: Flow? =
            verdict == .delivered ? model.delivered(kind, of: index, returned: returned) : kind.returnsFlow ? .stopped : nil
        guard let flow, let expected, flow != expected, !isQueued else { return }
        finding = finding ?? FuzzFinding("load \(index) got \(flow) for \(kind) instead of \(expected); received: \(received)")
    }

    /// Adds an event that is in order to the model's deliveries.
    ///
    /// - Returns: `false` if the event waits; `true` if the delegate receives it at once, or never.
    private func enqueueExpected(_ kind: EventKind, of index: Int, _ number: Int) -> Bool {
        switch kind {
        case .interim: return model.gate.enqueue(.interim, of: index)
        case .trailers: return model.gate.enqueue(.trailers, of: index)
        case .sent: return model.gate.enqueue(.sent, of: index)
        case .step: return model.gate.enqueue(.step, of: index)
        case .newBody: return model.gate.enqueue(.newBody, of: index)
        case .confirmation: break
        case .finish: model.end(nil)
        case .failure: model.end(Ending(code: .connectionLost))
        case .redirect: if model.countRedirect(of: index) { return model.gate.enqueue(.redirect, of: index) }
        case .response:
            guard model.handlerLoads[index].recordLength(PlayLoad.length(number)) else { return model.gate.enqueue(.response, of: index) }
            model.failForLength(index)
        case .data:
            let bytes = PlayLoad.bytes(number)
            if model.handlerLoads[index].recordBytes(Int64(bytes.count)) {
                model.failForLength(index)
            } else if !bytes.isEmpty {
                return model.gate.enqueue(.data(bytes), of: index)
            }
        case .challenge:
            model.openChallenge(responseCounts.count)
            return model.gate.enqueue(.challenge, of: index, requestNumber: responseCounts.count)
        case .challengeWithdrawn:
            if model.withdrawChallenge(loads[index].lastChallengeNumber ?? -1) { return model.gate.enqueue(.challengeWithdrawn, of: index) }
        }
        return true
    }

    private func decide() {
        guard !decisions.isEmpty else { return }
        let (handlerLoad, request, decide) = decisions.removeFirst()
        switch source.next(below: 3) {
        case 0:
            model.follow(deferredBy: handlerLoad)
            decide(.follow(request))
        case 1:
            model.declineLate(handlerLoad)
            decide(.deliver)
        default: withExtendedLifetime(decide) { model.follow(deferredBy: handlerLoad) }  // then `decide` is released undecided
        }
    }

    private func respondToChallenge() {
        guard !openChallenges.isEmpty else { return }
        let (number, challenge) = openChallenges.removeFirst()
        model.recordChallengeResponse(number)
        challenge.answer(.continueWithoutCredential)
    }

    private func compare() throws(FuzzFinding) {
        if isQueued { return }
        if let finding { throw finding }
        let gate = model.gate
        try require(received == gate.received, "the delegate received \(received) instead of \(gate.received)")
        try require(
            !gate.hasOverdueEvent, "the delegate received \(received), but \(gate.waitingEvents.map(\.event)) wait without a reason")
        try require(violations == model.violations, "the violations \(violations) were reported instead of \(model.violations)")
        try require(loads.count == model.expectedLoadCount, "\(loads.count) loads were made instead of \(model.expectedLoadCount)")
        try require((task?.state == .ended) == model.isEnded, "the task has \(task?.state == .ended ? "" : "not ")ended")
        for (index, load) in loads.enumerated() {
            let handlerLoad = model.handlerLoads[index]
            try require(load.startCount == 1, "load \(index) was started \(load.startCount) times")
            try require(
                load.resumeCount == handlerLoad.resumeCount,
                "load \(index) was resumed \(load.resumeCount) times instead of \(handlerLoad.resumeCount)")
            try require(
                (load.stopCount > 0) == handlerLoad.wasStopped, "load \(index) was stopped \(load.stopCount) times; received: \(received)")
        }
    }

    // MARK: Calls from the handler and its loads

    func didMakeLoad(_ load: PlayLoad) {
        loads.append(load)
        model.didMakeLoad(traits)
    }

    func didStartLoad() {
        model.didStartLoad()
        if depth < Self.depthLimit { for _ in 0..<source.next(below: 4) where !source.isEmpty { step() } }
        model.didReturnFromStart()
    }

    /// - Returns: The number of a request whose response must be recorded.
    func newRequestNumber() -> Int {
        responseCounts.append(0)
        return responseCounts.count - 1
    }

    func countResponse(_ requestNumber: Int) { responseCounts[requestNumber] += 1 }
}
