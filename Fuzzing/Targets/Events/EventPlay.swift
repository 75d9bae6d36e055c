// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Plays a script: the three parties of a load act as it says, and a model follows.
final class EventPlay: @unchecked Sendable {  // … because a case runs on a single thread
    let traits: HandlerLoadModel.Traits
    let isQueued: Bool
    var source: ByteSource
    var model = TaskModel()
    var heard: [Heard] = []
    private var violations: [ContractRule] = []
    private var task: LoadTask?
    private var loads: [PlayLoad] = []
    /// Shows whether the registry has seen the end of each load.
    private var retirement: HandlerDrain?
    /// The delegate's return values for the events in delivery, the innermost last.
    var answers: [Flow] = []
    var depth = 0
    var finding: FuzzFinding?
    /// The jobs of the delegate's queue.
    private var jobs: [@Sendable () -> Void] = []
    /// The decisions, challenges and body requests that the delegate has not responded to yet.
    var decisions: [(attempt: Int, request: Request, decide: @Sendable (RedirectDecision) -> Void)] = []
    var openChallenges: [(number: Int, challenge: AuthenticationChallenge)] = []
    var bodyQuestions: [@Sendable (Body?) -> Void] = []
    /// How many times each request of the handlers got a response.
    var replies: [Int] = []

    static let depthLimit = 3

    init(_ input: [UInt8]) {
        source = ByteSource(input)
        let mode = source.next()
        traits = HandlerLoadModel.Traits(allowsParts: mode & 1 != 0, isBlocking: mode & 2 != 0, hasBody: mode & 4 == 0)
        isQueued = mode & 8 != 0
    }

    func run() throws(FuzzFinding) {
        var configuration = Loader.Configuration.default
        configuration.timeouts = Timeouts()
        configuration.redirects.limit = TaskModel.redirectLimit
        configuration.bufferLimit = 16
        configuration.logger = SilentLog.logger
        configuration.violationObserver = { [self] rule, _ in violations.append(rule) }
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
        resume()  // an end without a failure waits for this
        model.gate.isTelling = false
        try compare()
        retirement = loader.handlers.unregister(registration)
    }

    /// Releases everything: each request must get its response, and each load its end.
    func windUp() throws(FuzzFinding) {
        while !jobs.isEmpty { jobs.removeFirst()() }
        for answer in bodyQuestions { answer(nil) }
        (bodyQuestions, decisions, openChallenges) = ([], [], [])
        for load in loads { load.letGo() }
        while !jobs.isEmpty { jobs.removeFirst()() }
        try require(task?.state == .ended, "the load has not ended after a cancel")
        try require(replies.allSatisfy { $0 == 1 }, "questions of the handler were answered \(replies) times each")
        try require(retirement?.isFinished == true, "the handler's loads have ended, and the registry still counts one as running")
        (task, retirement, loads) = (nil, nil, [])
    }

    // MARK: Steps

    private enum Action {
        case event(EventKind)
        case resume, suspend, cancel, decide, answerChallenge, runJob
    }

    private static let actions: [Action] =
        [
            .response, .data, .data, .finish, .failure, .interim, .trailers, .redirect, .redirect, .confirmation, .challenge,
            .challengeWithdrawn, .sent, .step, .newBody,
        ].map(Action.event) + [.resume, .resume, .suspend, .cancel, .decide, .answerChallenge, .runJob]

    func step() {
        depth += 1
        let wasTelling = model.gate.isTelling
        defer {
            depth -= 1
            model.gate.isTelling = wasTelling
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
        case .answerChallenge: answerChallenge()
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
        answers.append(.keepGoing)
        if verdict == .delivered, !expect(kind, of: index, number), kind.hasAnswer { answers[answers.count - 1] = .pause }
        let flow = load.call(kind, number)
        let answer = answers.removeLast()
        let expected: Flow? = verdict == .delivered ? model.delivered(kind, of: index, answer: answer) : kind.hasAnswer ? .stopped : nil
        guard let flow, let expected, flow != expected, !isQueued else { return }
        finding = finding ?? FuzzFinding("load \(index) was answered \(flow) to \(kind), and \(expected) is right; heard: \(heard)")
    }

    /// Adds an event that passed the order to the model's deliveries.
    ///
    /// - Returns: `false` if the event waits; `true` if the delegate receives it at once, or never.
    private func expect(_ kind: EventKind, of index: Int, _ number: Int) -> Bool {
        switch kind {
        case .interim: return model.gate.put(.interim, of: index)
        case .trailers: return model.gate.put(.trailers, of: index)
        case .sent: return model.gate.put(.sent, of: index)
        case .step: return model.gate.put(.step, of: index)
        case .newBody: return model.gate.put(.newBody, of: index)
        case .confirmation: break
        case .finish: model.end(nil)
        case .failure: model.end(Ending(code: .connectionLost))
        case .redirect: if model.countRedirect(of: index) { return model.gate.put(.redirect, of: index) }
        case .response:
            guard model.attempts[index].takeLength(PlayLoad.length(number)) else { return model.gate.put(.response, of: index) }
            model.breakOff(index)
        case .data:
            let bytes = PlayLoad.bytes(number)
            if model.attempts[index].takeBytes(Int64(bytes.count)) {
                model.breakOff(index)
            } else if !bytes.isEmpty {
                return model.gate.put(.data(bytes), of: index)
            }
        case .challenge:
            model.challenge(replies.count)
            return model.gate.put(.challenge, of: index, question: replies.count)
        case .challengeWithdrawn:
            if model.challengeIsWithdrawn(loads[index].lastChallenge ?? -1) { return model.gate.put(.challengeWithdrawn, of: index) }
        }
        return true
    }

    private func decide() {
        guard !decisions.isEmpty else { return }
        let (attempt, request, decide) = decisions.removeFirst()
        switch source.next(below: 3) {
        case 0:
            model.follow(wasPutOff: attempt)
            decide(.follow(request))
        case 1:
            model.declineLate(attempt)
            decide(.deliver)
        default: withExtendedLifetime(decide) { model.follow(wasPutOff: attempt) }  // then released without a decision
        }
    }

    private func answerChallenge() {
        guard !openChallenges.isEmpty else { return }
        let (number, challenge) = openChallenges.removeFirst()
        model.challengeWasAnswered(number)
        challenge.answer(.continueWithout)
    }

    private func compare() throws(FuzzFinding) {
        if isQueued { return }
        if let finding { throw finding }
        let gate = model.gate
        try require(heard == gate.heard, "the delegate heard \(heard), and should have heard \(gate.heard)")
        try require(!gate.owes, "the delegate heard \(heard), and nothing kept it from hearing \(gate.waiting.map(\.event))")
        try require(violations == model.violations, "breaches of \(violations) were reported, and \(model.violations) are right")
        try require(loads.count == model.launches, "\(loads.count) loads were made, and \(model.launches) are right")
        try require((task?.state == .ended) == model.isEnded, "the task is \(task?.state == .ended ? "" : "not ")over")
        for (index, load) in loads.enumerated() {
            let attempt = model.attempts[index]
            try require(load.starts == 1, "load \(index) was started \(load.starts) times")
            try require(load.resumes == attempt.resumes, "load \(index) was resumed \(load.resumes) times, and \(attempt.resumes) is right")
            try require((load.stops > 0) == attempt.wasToldToStop, "load \(index) was told \(load.stops) times to stop; heard: \(heard)")
        }
    }

    // MARK: Calls from the handler and its loads

    func made(_ load: PlayLoad) {
        loads.append(load)
        model.made(traits)
    }

    func started() {
        model.started()
        if depth < Self.depthLimit { for _ in 0..<source.next(below: 4) where !source.isEmpty { step() } }
        model.startReturned()
    }

    /// - Returns: The number of a request whose response must be recorded.
    func asks() -> Int {
        replies.append(0)
        return replies.count - 1
    }

    func wasAnswered(_ question: Int) { replies[question] += 1 }
}
