// SPDX-License-Identifier: Apache-2.0

import Portolan

/// Plays a script: all three parties of a load act from it, and a model follows.
final class EventPlay: @unchecked Sendable {  // … because a case runs on one thread, from its start to its end
    let traits: AttemptModel.Traits
    private let isQueued: Bool
    private var source: ByteSource
    var model = TaskModel()
    private(set) var heard: [Heard] = []
    private var breaches: [ContractRule] = []
    private var task: LoadTask?
    private var loads: [PlayLoad] = []
    /// Tells whether the registry has seen the end of each load.
    private var retirement: Retirement?
    /// The delegate's answers to the events that are with it, the innermost last.
    private var answers: [Flow] = []
    private var depth = 0
    private var finding: Finding?
    /// Jobs of the delegate's queue.
    private var jobs: [@Sendable () -> Void] = []
    /// What the delegate has not answered yet.
    private var decisions: [(attempt: Int, request: Request, decide: @Sendable (RedirectDecision) -> Void)] = []
    private var openChallenges: [(number: Int, challenge: AuthenticationChallenge)] = []
    private var bodyQuestions: [@Sendable (Body?) -> Void] = []
    /// How often each question of the handlers' was answered.
    private var replies: [Int] = []

    private static let depthLimit = 3

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
        retirement = loader.handlers.unregister(registration)
    }

    /// Lets go of everything: no question may be left without an answer, and no load without its end.
    func windUp() throws(Finding) {
        task?.resume()  // on a queue, the end waits for it behind what was held back by a suspension
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

    private func step() {
        depth += 1
        defer { depth -= 1 }
        let byte = source.next()
        switch Self.actions[Int(byte) % Self.actions.count] {
        case .event(let kind):
            guard let last = loads.indices.last else { return }
            emit(kind, from: byte >= 0xF0 ? source.next(below: UInt8(loads.count)) : last)
        case .resume:
            model.resume()
            task?.resume()
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

    private func emit(_ kind: EventKind, from index: Int) {
        let load = loads[index]
        let number = source.next(below: 16)
        let verdict = model.judge(kind, of: index)
        answers.append(.keepGoing)
        if verdict == .delivered { expect(kind, of: index, number) }
        let flow = load.call(kind, number)
        let answer = answers.removeLast()
        let expected: Flow? = verdict == .delivered ? model.delivered(kind, of: index, answer: answer) : kind.hasAnswer ? .stopped : nil
        guard let flow, let expected, flow != expected, !isQueued else { return }
        finding = finding ?? Finding("load \(index) was answered \(flow) to \(kind), and \(expected) is right; heard: \(heard)")
    }

    /// What the delegate hears of an event that passed the order.
    private func expect(_ kind: EventKind, of index: Int, _ number: Int) {
        switch kind {
        case .interim: model.expect(.interim)
        case .trailers: model.expect(.trailers)
        case .sent: model.expect(.sent)
        case .step: model.expect(.step)
        case .newBody: model.expect(.newBody)
        case .confirmation: break
        case .finish: model.end(nil)
        case .failure: model.end(Ending(code: .connectionLost))
        case .redirect: if model.countRedirect(of: index) { model.expect(.redirect) }
        case .response:
            if model.attempts[index].takeLength(PlayLoad.length(number)) { model.breakOff(index) } else { model.expect(.response) }
        case .data:
            let bytes = PlayLoad.bytes(number)
            if model.attempts[index].takeBytes(Int64(bytes.count)) {
                model.breakOff(index)
            } else if !bytes.isEmpty {
                model.expect(.data(bytes))
            }
        case .challenge:
            model.challenge(replies.count)
            model.expect(.challenge)
        case .challengeWithdrawn:
            if model.challengeIsWithdrawn(loads[index].lastChallenge ?? -1) { model.expect(.challengeWithdrawn) }
        }
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
        try require(heard == model.heard, "the delegate heard \(heard), and should have heard \(model.heard)")
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

    // MARK: From the delegate

    /// Writes an event down, and does what the script has the delegate do inside it.
    @discardableResult
    func hears(_ event: Heard) -> Flow {
        heard.append(event)
        if case .end = event { return .keepGoing }
        let byte = source.next()
        if byte & 0xC0 == 0xC0, depth < Self.depthLimit { step() }
        switch byte & 7 {
        case 7:
            if event.hasAnswer, !isQueued { model.cancel() }
            return answer(.stopped)
        case 5, 6: return answer(.pause)
        default: return answer(.keepGoing)
        }
    }

    private func answer(_ flow: Flow) -> Flow {
        if !answers.isEmpty { answers[answers.count - 1] = flow }
        return flow
    }

    func hears(redirectTo request: Request, _ decide: @escaping @Sendable (RedirectDecision) -> Void) {
        heard.append(.redirect)
        let byte = source.next()
        if byte & 0xC0 == 0xC0, depth < Self.depthLimit { step() }
        let attempt = model.current
        switch byte & 3 {
        case 0:
            if !isQueued { model.follow(wasPutOff: nil) }
            _ = answer(.stopped)
            decide(.follow(request))
        case 1:
            _ = answer(.keepGoing)
            decide(.deliver)
        case 2:
            _ = answer(.pause)
            decisions.append((attempt, request, decide))
        default:
            _ = answer(.pause)
            model.follow(wasPutOff: attempt)  // let go of without an answer
        }
    }

    func hears(_ challenge: AuthenticationChallenge) {
        let number = replies.count - 1
        switch hears(.challenge) {
        case .keepGoing: openChallenges.append((number, challenge))
        case .pause:
            model.challengeWasAnswered(number)
            challenge.answer(.cancel)
        case .stopped: model.challengeWasAnswered(number)  // let go of without an answer
        }
    }

    func hears(newBody answer: @escaping @Sendable (Body?) -> Void) {
        if hears(.newBody) == .keepGoing { bodyQuestions.append(answer) } else { answer(nil) }
    }
}
