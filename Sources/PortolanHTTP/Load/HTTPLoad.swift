// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCoding
import PortolanCore
import PortolanTransport
import PortolanHTTPSyntax

/// One load of an `http:` or `https:` URL: gets a connection, has it carry the request, and tells the client what comes.
///
/// Everything happens in the turns of the loop that has the origin's connections; calls from other threads are brought there.
final class HTTPLoad: ProtocolLoad, @unchecked Sendable {  // … because what varies is touched in the turns of its loop only
    private enum State {
        case created
        /// For a connection.
        case waiting(ConnectionPool.Ticket?)
        /// For the answer whether the server is trusted to which a connection leads.
        case judging(any ExchangeCarrier, ServerTrust)
        case exchanging(any ExchangeCarrier)
        /// The head of an answer is here, and it is not decided what becomes of it.
        case deciding(any ExchangeCarrier, Answer)
        /// The proxy wants to know who we are before it makes a tunnel; without an answer the load fails with this.
        case askedByProxy(LoadError)
        /// For a body that can be sent again.
        case awaitingBody
        case over
    }

    private enum Place {
        case none
        /// It waits for one to become free.
        case queue
        /// It left the queue because one is being opened for it; if that fails, it waits on.
        case besideQueue
    }

    let client: any ProtocolClient
    private let engine: HTTPEngine
    private let lane: HTTPEngine.Lane
    /// Changes where a credential for the proxy is found.
    private var key: ConnectionKey
    /// What is sent; changes where a credential or another body is found.
    private var request: Request
    private var state = State.created

    private(set) var outgoing: OutgoingRequest
    private(set) var upload: Upload?
    private var sentBytes: Int64 = 0
    private lazy var authentication = AuthenticationAttempts(to: key)
    private var resends = ResendPolicy()
    /// Whether the body may wait for the server's word: not again where that was refused.
    private var mayExpect = true
    /// What the client was told of its wait for a connection.
    private var place = Place.none
    /// Whether a server passed the request over: then it goes before those that came later.
    private var wasPassedOver = false
    /// Whether a response has begun, an interim one included.
    private var hasBegun = false
    /// The question that is open about a connection.
    private weak var question: AuthenticationChallenge?
    /// How many questions of trust were asked about connections that others had opened.
    private var judgements = 0
    /// The server that the load has accepted itself.
    private var trusted: ServerTrust?
    /// Whether the thread that has the turn is going to wait for the load.
    private var isAwaited = false
    /// Between the connection and the client, where the body needs it.
    private var stage: (any ResumableStage)?

    init(_ request: Request, client: any ProtocolClient, key: ConnectionKey, engine: HTTPEngine) throws(LoadError) {
        self.request = request
        self.client = client
        self.key = key
        self.engine = engine
        lane = engine.lane(for: key)
        outgoing = try OutgoingRequest(request, configuration: engine.configuration)
        try outgoing.authorize(toProxyOf: key)
    }

    init(_ request: Request, client: any ProtocolClient, site: Site, engine: HTTPEngine) {
        self.request = request
        self.client = client
        key = site.key
        self.engine = engine
        lane = site.lane
        outgoing = OutgoingRequest(request, fields: site.fields, lines: site.lines)
    }

    // MARK: From the core, on any thread

    func startLoading() { onLoop { $0.begin() } }
    func resumeLoading() { onLoop { $0.resume() } }
    func stopLoading() { onLoop { $0.stop() } }

    private var configuration: HTTPConfiguration { engine.configuration }

    private func onLoop(_ body: @escaping @Sendable (HTTPLoad) -> Void) {
        let loop = lane.loop
        if loop.isInTurn {
            body(self)
        } else if loop.enter() {
            body(self)
            loop.leave()
        } else {
            loop.execute { body(self) }
        }
    }

    // MARK: Its life, in turns

    private func begin() {
        guard case .created = state else { return }
        do throws(LoadError) {
            upload = try request.body.map { body throws(LoadError) in try Upload(body) }
        } catch {
            return fail(error)
        }
        lane.loadCount += 1
        enqueue()
    }

    private func enqueue() {
        guard let pool = lane.pool else { return }
        state = .waiting(nil)
        let ticket = pool.acquire(key, for: self, priority: request.priority, isAhead: wasPassedOver)
        guard let ticket else { return }
        if case .waiting = state { state = .waiting(ticket) } else { pool.cancel(ticket) }
    }

    private func resume() {
        switch state {
        case .exchanging(let carrier):
            switch stage?.resume() ?? .keepGoing {
            case .keepGoing: carrier.resumeReading(self)
            case .pause: break
            // The client was told the end by the stage, or wants none.
            case .stopped:
                end()
                client.didTransfer(carrier.report)
                carrier.cancel(self)
            }
        // A redirect that was offered is not taken.
        case .deciding(let carrier, let answer): deliver(answer, from: carrier)
        // The answer is complete, and some of it was held back.
        case .over: _ = stage?.resume()
        case .created, .waiting, .askedByProxy, .judging, .awaitingBody: break
        }
    }

    private func stop() {
        stage = nil
        switch state {
        case .waiting(let ticket):
            end()
            if let ticket { lane.pool?.cancel(ticket) }
        case .exchanging(let carrier), .deciding(let carrier, _), .judging(let carrier, _):
            end()
            client.didTransfer(carrier.report)
            carrier.cancel(self)
        case .created, .askedByProxy, .awaitingBody: end()
        case .over: break
        }
    }

    /// Nothing more is told to anybody.
    private func end() {
        switch state {
        case .created, .over: break
        case .waiting, .judging, .exchanging, .deciding, .askedByProxy, .awaitingBody: lane.loadCount -= 1
        }
        state = .over
        endWait()
        upload?.close()
        upload = nil
    }

    private func fail(_ error: LoadError) {
        end()
        (stage ?? client).didFail(with: error)
    }

    /// Sends the request anew, on this connection if it is free by then, or on another one.
    ///
    /// - Parameter error: why; `nil` where a response asks for it.
    private func sendAgain(after error: LoadError? = nil) {
        hasBegun = false
        stage = nil
        if upload.map({ $0.wasRead }) ?? (request.body != nil) {
            renewBody(after: error)
        } else {
            send()
        }
    }

    private func renewBody(after error: LoadError?) {
        upload?.close()
        upload = nil
        sentBytes = 0
        if request.body?.isRewindable == true { return send() }
        state = .awaitingBody
        client.needsNewBody { [self] body in
            lane.loop.execute { [self] in
                guard case .awaitingBody = state else { return }
                guard let body else { return fail(.bodyCannotBeSentAgain(to: key, after: error)) }
                request.body = body
                send()
            }
        }
    }

    private func send() {
        do throws(LoadError) {
            outgoing = try OutgoingRequest(request, configuration: configuration, mayExpect: mayExpect)
            try outgoing.authorize(toProxyOf: key)
            if upload == nil, let body = request.body { upload = try Upload(body) }
        } catch {
            return fail(error)
        }
        enqueue()
    }
}

// MARK: A thread that waits

extension HTTPLoad: WaitableLoad {
    func startAwaitedLoading() {
        let loop = lane.loop
        guard loop.enter() else { return startLoading() }
        isAwaited = true
        begin()
        isAwaited = false
        loop.leave()
    }

    func carryOn(for waiter: LoadWaiter) -> Bool {
        let loop = lane.loop
        loop.enterInTime()
        defer { loop.leave() }
        guard let transport = transportInUse else { return false }
        return transport.carryOn(for: waiter) { [self] in transportInUse === transport }
    }

    /// What the exchange goes over.
    private var transportInUse: (any ByteTransport)? {
        guard case .exchanging(let carrier) = state else { return nil }
        return carrier.transport
    }
}

// MARK: From the pool

extension HTTPLoad: ConnectionWaiter {
    var isRepeatable: Bool { request.method.isIdempotent && resends.retriesUnanswered }

    func didQueue(_ wait: QueueWait) {
        guard case .waiting = state, place != .queue else { return }
        place = .queue
        (client as? any QueueingClient)?.didEnterQueue(wait)
    }

    func didLeaveQueue() {
        guard place == .queue else { return }
        place = .besideQueue
        (client as? any QueueingClient)?.didLeaveQueue(mayReturn: true)
    }

    /// It waits for no connection any more.
    private func endWait() {
        guard place != .none else { return }
        place = .none
        (client as? any QueueingClient)?.didLeaveQueue(mayReturn: false)
    }

    func use(_ connection: any PooledConnection) {
        endWait()
        let carrier = connection.makeCarrier(for: self)
        withdrawQuestion()
        // The client may have stopped the load in that call.
        if case .over = state { return carrier.cancel(self) }
        guard let trust = connection.trust, trust !== trusted, !trust.wasJudged(by: self) else { return begin(on: carrier) }
        state = .judging(carrier, trust)
        judgements += 1
        let challenge = ServerTrust.question(key.peer, trust.evidence) { [self, judgements] answer in
            onLoop { $0.heed(answer, toJudgement: judgements) }
        }
        question = challenge
        client.didReceive(challenge)
    }

    private func begin(on carrier: any ExchangeCarrier) {
        state = .exchanging(carrier)
        if carrier.isReused { client.didReach(.reused) }
        if isAwaited { carrier.transport?.promiseCarrier() }
        carrier.start()
    }

    private func heed(_ answer: ChallengeAnswer, toJudgement number: Int) {
        guard case .judging(let carrier, let trust) = state, number == judgements else { return }
        if let refusal = ServerTrust.refusal(answer, verdict: trust.evidence.verdict, peer: key.peer) {
            fail(refusal)
            return carrier.cancel(self)
        }
        trusted = trust
        begin(on: carrier)
    }

    /// What becomes of the connection is decided without the answer.
    private func withdrawQuestion() {
        if let question { client.didCancel(question) }
        question = nil
    }

    func connectionFailed(_ error: LoadError) {
        guard case .waiting = state else { return }
        endWait()
        guard let question = authentication.question(for: error) else { return fail(error.withoutProxyChallenge) }
        state = .askedByProxy(error)
        ask(question)
    }

    func didReach(_ step: LoadStep) {
        if case .waiting = state { client.didReach(step) }
    }

    func ask(_ challenge: AuthenticationChallenge) {
        guard case .waiting = state else { return challenge.answer(.performDefault) }
        question = challenge
        client.didReceive(challenge)
    }

    func withdraw(_ challenge: AuthenticationChallenge) {
        guard case .waiting = state, question === challenge else { return }
        withdrawQuestion()
    }
}

// MARK: From the connection

extension HTTPLoad: Exchange {
    func didSend(bodyBytes: Int) {
        sentBytes += Int64(bodyBytes)
        client.didSend(bodyBytes: Int64(bodyBytes), total: sentBytes, expected: upload?.length)
    }

    func requestIsSent() { client.didReach(.requestSent) }

    private func noteFirstByte() {
        guard !hasBegun else { return }
        hasBegun = true
        client.didReach(.firstByte)
    }

    /// Whether the answer belongs to a request of this load; where it does not, the load fails.
    private func wasAsked() -> Bool {
        guard case .judging(let carrier, _) = state else { return true }
        withdrawQuestion()
        fail(LoadError(.badResponse, message: "\(key) answered before it was asked"))
        carrier.cancel(self)
        return false
    }

    func didReceiveInterim(_ head: ResponseHead) {
        guard wasAsked() else { return }
        noteFirstByte()
        client.didReceiveInterim(Answer(head, from: request.url, bodyLength: nil, type: &lane.lastType).response)
    }

    func didReceive(_ head: ResponseHead, bodyLength length: Int64?) -> Flow {
        guard wasAsked() else { return .stopped }
        noteFirstByte()
        guard case .exchanging(let carrier) = state else { return .stopped }
        let answer = Answer(head, from: request.url, bodyLength: length, type: &lane.lastType)
        if head.status == 417, outgoing.expectsContinue, outgoing.addsExpectation { return retryWithoutExpectation(answer, from: carrier) }
        if head.status == 401 || head.status == 407, let question = authentication.question(for: head) {
            state = .deciding(carrier, answer)
            ask(question)
            return .pause
        }
        if let successor = request.redirected(by: answer.response) {
            state = .deciding(carrier, answer)
            switch client.wasRedirected(to: successor, redirectResponse: answer.response) {
            case .stopped:
                // Unless it was stopped in that call.
                guard case .deciding = state else { return .stopped }
                end()
                client.didTransfer(carrier.report)
                return .stopped
            case .pause: return .pause
            case .keepGoing: break
            }
            guard case .deciding = state else { return .stopped }
        }
        state = .exchanging(carrier)
        return receive(answer)
    }

    private func retryWithoutExpectation(_ answer: Answer, from carrier: any ExchangeCarrier) -> Flow {
        mayExpect = false
        client.willResend(after: answer.response)
        // The client may have stopped the load in that call.
        if case .over = state { return .stopped }
        client.didTransfer(carrier.report)
        sendAgain()
        return .stopped
    }

    /// The answer is the caller's.
    private func receive(_ answer: Answer) -> Flow {
        stage = BodyStages(decoding: configuration.decoding, multipart: configuration.parts).make(
            for: answer.response, isCoded: answer.mayBeDecoded, transferCodings: answer.head.framing.transferCodings, to: request,
            client: client)
        let flow = (stage ?? client).didReceive(answer.response, storage: answer.storage)
        if flow == .stopped { end() }
        return flow
    }

    private func deliver(_ answer: Answer, from carrier: any ExchangeCarrier) {
        state = .exchanging(carrier)
        switch receive(answer) {
        case .stopped: carrier.cancel(self)
        case .pause: break
        case .keepGoing: carrier.resumeReading(self)
        }
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        let flow = if let stage { stage.didLoad(bytes) } else { client.didLoad(bytes) }
        if flow == .stopped { end() }
        return flow
    }

    func didEnd(trailers: HTTPFields?, report: TransferReport) {
        end()
        client.didTransfer(report)
        let sink = stage ?? client
        if let trailers { sink.didReceiveTrailers(trailers) }
        sink.didFinishLoading()
    }

    func didFail(_ error: LoadError, fate: RequestFate, report: TransferReport) {
        if case .judging = state { withdrawQuestion() }
        let failure = ResendPolicy.Failure(
            fate: fate, hasResponse: hasBegun, isReused: report.isReused, isIdempotent: request.method.isIdempotent,
            mayUseHTTP1: key.version == nil)
        switch resends.decide(after: failure) {
        case .sendAgain:
            // What else is idle may have ended, too.
            if case .unanswered = fate { lane.pool?.closeIdle(key) }
            if case .needsHTTP1 = fate { key.version = .http1 }
            if case .passedOver = fate { wasPassedOver = true }
            sendAgain(after: error)
        case .fail:
            client.didTransfer(report)
            fail(error)
        case .giveUp(let count):
            client.didTransfer(report)
            fail(error.afterSending(count))
        }
    }
}

// MARK: Authentication

extension HTTPLoad {
    private func ask(_ question: AuthenticationAttempts.Question) {
        let refusal: Response? = if case .deciding(_, let answer) = state { answer.response } else { nil }
        client.didReceive(
            AuthenticationChallenge(
                protectionSpace: question.space, previousFailureCount: question.failureCount, previousError: question.previousError,
                failureResponse: refusal
            ) { [self] answer in
                lane.loop.execute { [self] in heed(answer, to: question) }
            })
    }

    private func heed(_ answer: ChallengeAnswer, to question: AuthenticationAttempts.Question) {
        switch state {
        case .deciding, .askedByProxy: break
        case .created, .waiting, .judging, .exchanging, .awaitingBody, .over: return
        }
        switch authentication.decide(answer, on: question) {
        case .use(let credential, let side): use(credential, for: side)
        case .ask(let next): ask(next)
        case .giveUp: goOnWithout()
        case .fail(let error):
            leaveCarrier()
            fail(error)
        }
    }

    private func use(_ credential: PasswordCredential, for side: AuthenticationAttempts.Side) {
        do throws(LoadError) {
            switch side {
            case .origin:
                request.fields[.authorization] = try credential.basicValue()
            case .proxy:
                // Another key: what this credential opens is not for those who gave another one, or none.
                key.proxy?.credential = credential
            }
        } catch {
            leaveCarrier()
            return fail(error)
        }
        if case .deciding(_, let answer) = state { client.willResend(after: answer.response) }
        // The client may have stopped the load in that call.
        if case .over = state { return }
        leaveCarrier()
        sendAgain()
    }

    private func goOnWithout() {
        switch state {
        case .deciding(let carrier, let held): deliver(held, from: carrier)
        case .askedByProxy(let error): fail(error.withoutProxyChallenge)
        case .created, .waiting, .judging, .exchanging, .awaitingBody, .over: break
        }
    }

    /// The answer that came is not the caller's.
    private func leaveCarrier() {
        guard case .deciding(let carrier, _) = state else { return }
        client.didTransfer(carrier.report)
        state = .waiting(nil)
        carrier.cancel(self)
    }
}

extension LoadError {
    fileprivate static func bodyCannotBeSentAgain(to key: ConnectionKey, after error: LoadError?) -> LoadError {
        let why = error.map { ": \($0.message)" } ?? ""
        return LoadError(
            .bodyFailed, message: "the body has to be sent to \(key) again, and can't be read twice; give a rewindable one\(why)",
            cause: error)
    }

    /// The last of so many tries failed so.
    fileprivate func afterSending(_ count: Int) -> LoadError {
        noting("tried \(count) times")
    }

    /// As the caller gets it.
    fileprivate var withoutProxyChallenge: LoadError {
        guard cause is ProxyChallenge else { return self }
        var error = self
        error.cause = nil
        return error
    }
}
