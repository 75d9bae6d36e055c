// SPDX-License-Identifier: Apache-2.0

import PortolanCoding
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// One load of an `http:` or `https:` URL: gets a connection, has it carry the request, and tells the client what comes.
///
/// Everything happens in the turns of the loop that has the origin's connections; calls from other threads are brought there.
final class HTTPLoad: ProtocolLoad, @unchecked Sendable {  // … because what varies is touched in the turns of its loop only
    enum State {
        case created
        /// For a connection.
        case waiting(ConnectionPool.Ticket?)
        /// For the answer whether the server is trusted to which a connection leads.
        case evaluatingTrust(any HTTPStream, ServerTrust)
        case exchanging(any HTTPStream)
        /// The head of an answer is here, and it is not decided what becomes of it.
        case deciding(any HTTPStream, ReceivedResponse)
        /// The proxy wants to know who we are before it makes a tunnel; without an answer the load fails with this.
        case askedByProxy(LoadError)
        /// For a body that can be sent again.
        case awaitingBody
        case over
    }

    enum Place {
        case none
        /// It waits for one to become free.
        case queue
        /// It left the queue because one is being opened for it; if that fails, it waits on.
        case besideQueue
    }

    let client: any ProtocolClient
    let pools: HTTPConnectionPools
    let shard: HTTPConnectionPools.EventLoopShard
    /// Changes where a credential for the proxy is found.
    var key: ConnectionKey
    /// What is sent; changes where a credential or another body is found.
    var request: Request
    var state = State.created

    private(set) var preparedRequest: PreparedRequest
    private(set) var upload: RequestBodyWriter?
    var sentBytes: Int64 = 0
    lazy var authentication = AuthenticationAttempts(to: key)
    var resends = ResendPolicy()
    /// Whether the body may wait for the server's word: not again where that was refused.
    var mayExpect = true
    /// What the client was told of its wait for a connection.
    var place = Place.none
    /// Whether a server passed the request over: then it goes before those that came later.
    var wasPassedOver = false
    /// Whether a response has begun, an interim one included.
    var hasBegun = false
    /// The question that is open about a connection.
    weak var question: AuthenticationChallenge?
    /// How many questions of trust were asked about connections that others had opened.
    var judgements = 0
    /// The server that the load has accepted itself.
    var trusted: ServerTrust?
    /// Whether the thread that has the turn is going to wait for the load.
    var isAwaited = false
    /// Between the connection and the client, where the body needs it.
    var stage: (any ResumableStage)?

    init(_ request: Request, client: any ProtocolClient, key: ConnectionKey, pools: HTTPConnectionPools) throws(LoadError) {
        self.request = request
        self.client = client
        self.key = key
        self.pools = pools
        shard = pools.shard(for: key)
        preparedRequest = try PreparedRequest(request, configuration: pools.configuration)
        try preparedRequest.authorize(toProxyOf: key)
    }

    init(_ request: Request, client: any ProtocolClient, template: RequestTemplate, pools: HTTPConnectionPools) {
        self.request = request
        self.client = client
        key = template.key
        self.pools = pools
        shard = template.shard
        preparedRequest = PreparedRequest(request, fields: template.fields, lines: template.lines)
    }

    // MARK: From the core, on any thread

    func startLoading() { onLoop { $0.begin() } }
    func resumeLoading() { onLoop { $0.resume() } }
    func stopLoading() { onLoop { $0.stop() } }

    var configuration: HTTPConfiguration { pools.configuration }

    func onLoop(_ body: @escaping @Sendable (HTTPLoad) -> Void) {
        let loop = shard.loop
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
            upload = try request.body.map { body throws(LoadError) in try RequestBodyWriter(body) }
        } catch {
            return fail(error)
        }
        shard.loadCount += 1
        enqueue()
    }

    private func enqueue() {
        guard let pool = shard.pool else { return }
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
        case .created, .waiting, .askedByProxy, .evaluatingTrust, .awaitingBody: break
        }
    }

    private func stop() {
        stage = nil
        switch state {
        case .waiting(let ticket):
            end()
            if let ticket { shard.pool?.cancel(ticket) }
        case .exchanging(let carrier), .deciding(let carrier, _), .evaluatingTrust(let carrier, _):
            end()
            client.didTransfer(carrier.report)
            carrier.cancel(self)
        case .created, .askedByProxy, .awaitingBody: end()
        case .over: break
        }
    }

    /// Nothing more is told to anybody.
    func end() {
        switch state {
        case .created, .over: break
        case .waiting, .evaluatingTrust, .exchanging, .deciding, .askedByProxy, .awaitingBody: shard.loadCount -= 1
        }
        state = .over
        endWait()
        upload?.close()
        upload = nil
    }

    func fail(_ error: LoadError) {
        end()
        (stage ?? client).didFail(with: error)
    }

    /// Sends the request anew, on this connection if it is free by then, or on another one.
    ///
    /// - Parameter error: why; `nil` where a response asks for it.
    func sendAgain(after error: LoadError? = nil) {
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
            shard.loop.execute { [self] in
                guard case .awaitingBody = state else { return }
                guard let body else { return fail(.bodyCannotBeSentAgain(to: key, after: error)) }
                request.body = body
                send()
            }
        }
    }

    private func send() {
        do throws(LoadError) {
            preparedRequest = try PreparedRequest(request, configuration: configuration, mayExpect: mayExpect)
            try preparedRequest.authorize(toProxyOf: key)
            if upload == nil, let body = request.body { upload = try RequestBodyWriter(body) }
        } catch {
            return fail(error)
        }
        enqueue()
    }
}

extension HTTPLoad: WaitableLoad {
    func startAwaitedLoading() {
        let loop = shard.loop
        guard loop.enter() else { return startLoading() }
        isAwaited = true
        begin()
        isAwaited = false
        loop.leave()
    }

    func carryOn(for waiter: LoadWaiter) -> Bool {
        let loop = shard.loop
        loop.enterInTime()
        defer { loop.leave() }
        guard let transport = transportInUse else { return false }
        return transport.carryOn(for: waiter) { [self] in transportInUse === transport }
    }

    /// What the exchange goes over.
    private var transportInUse: (any ByteConnection)? {
        guard case .exchanging(let carrier) = state else { return nil }
        return carrier.transport
    }
}

extension LoadError {
    fileprivate static func bodyCannotBeSentAgain(to key: ConnectionKey, after error: LoadError?) -> LoadError {
        let why = error.map { ": \($0.message)" } ?? ""
        return LoadError(
            .bodyFailed, message: "the body has to be sent to \(key) again, and can't be read twice; give a rewindable one\(why)",
            cause: error)
    }
}
