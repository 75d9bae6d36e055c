// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Plays a script: all three parties of a load act from it, and a model follows.
final class EventPlay: @unchecked Sendable {  // … because a case runs on one thread, from its start to its end
    let traits: AttemptModel.Traits
    let isQueued: Bool
    var source: ByteSource
    var model = TaskModel()
    var heard: [Heard] = []
    private var breaches: [ContractRule] = []
    private var task: LoadTask?
    private var loads: [PlayLoad] = []
    /// Tells whether the registry has seen the end of each load.
    private var retirement: Retirement?
    /// The delegate's answers to the events that are with it, the innermost last.
    var answers: [Flow] = []
    var depth = 0
    var finding: Finding?
    /// Jobs of the delegate's queue.
    private var jobs: [@Sendable () -> Void] = []
    /// What the delegate has not answered yet.
    var decisions: [(attempt: Int, request: Request, decide: @Sendable (RedirectDecision) -> Void)] = []
    var openChallenges: [(number: Int, challenge: AuthenticationChallenge)] = []
    var bodyQuestions: [@Sendable (Body?) -> Void] = []
    /// How often each question of the handlers' was answered.
    var replies: [Int] = []

    static let depthLimit = 3

    init(_ input: [UInt8]) {
        source = ByteSource(input)
        let mode = source.next()
        traits = AttemptModel.Traits(allowsParts: mode & 1 != 0, isBlocking: mode & 2 != 0, hasBody: mode & 4 == 0)
        isQueued = mode & 8 != 0
    }

    func run() throws(Finding) {
        var configuration = Loader.Configuration.default
        configuration.timeouts = Timeouts()
        configuration.redirects.limit = TaskModel.redirectLimit
        configuration.bufferLimit = 16
        configuration.logger = SilentLog.logger
        configuration.breachObserver = { [self] rule, _ in breaches.append(rule) }
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
        resume()  // an end that is no failure waits for it
        model.gate.isTelling = false
        try compare()
        retirement = loader.handlers.unregister(registration)
    }

    /// Lets go of everything: no question may be left without an answer, and no load without its end.
    func windUp() throws(Finding) {
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
        let verdict = model.judge(kind, of: index)
        answers.append(.keepGoing)
        if verdict == .delivered, !expect(kind, of: index, number), kind.hasAnswer { answers[answers.count - 1] = .pause }
        let flow = load.call(kind, number)
        let answer = answers.removeLast()
        let expected: Flow? = verdict == .delivered ? model.delivered(kind, of: index, answer: answer) : kind.hasAnswer ? .stopped : nil
        guard let flow, let expected, flow != expected, !isQueued else { return }
        finding = finding ?? Finding("load \(index) was answered \(flow) to \(kind), and \(expected) is right; heard: \(heard)")
    }

    /// What the delegate hears of an event that passed the order.
    ///
    /// - Returns: whether it, or nobody, hears it now; otherwise it waits.
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
        default: withExtendedLifetime(decide) { model.follow(wasPutOff: attempt) }  // then let go of without an answer
        }
    }

    private func answerChallenge() {
        guard !openChallenges.isEmpty else { return }
        let (number, challenge) = openChallenges.removeFirst()
        model.challengeWasAnswered(number)
        challenge.answer(.continueWithout)
    }

    private func compare() throws(Finding) {
        if isQueued { return }
        if let finding { throw finding }
        let gate = model.gate
        try require(heard == gate.heard, "the delegate heard \(heard), and should have heard \(gate.heard)")
        try require(!gate.owes, "the delegate heard \(heard), and nothing kept it from hearing \(gate.waiting.map(\.event))")
        try require(breaches == model.breaches, "breaches of \(breaches) were reported, and \(model.breaches) are right")
        try require(loads.count == model.launches, "\(loads.count) loads were made, and \(model.launches) are right")
        try require((task?.state == .ended) == model.isEnded, "the task is \(task?.state == .ended ? "" : "not ")over")
        for (index, load) in loads.enumerated() {
            let attempt = model.attempts[index]
            try require(load.starts == 1, "load \(index) was started \(load.starts) times")
            try require(load.resumes == attempt.resumes, "load \(index) was resumed \(load.resumes) times, and \(attempt.resumes) is right")
            try require((load.stops > 0) == attempt.wasToldToStop, "load \(index) was told \(load.stops) times to stop; heard: \(heard)")
        }
    }

    // MARK: From the handler and its loads

    func made(_ load: PlayLoad) {
        loads.append(load)
        model.made(traits)
    }

    func started() {
        model.started()
        if depth < Self.depthLimit { for _ in 0..<source.next(below: 4) where !source.isEmpty { step() } }
        model.startReturned()
    }

    /// - Returns: the number of a question whose answer is to be noted.
    func asks() -> Int {
        replies.append(0)
        return replies.count - 1
    }

    func wasAnswered(_ question: Int) { replies[question] += 1 }
}
