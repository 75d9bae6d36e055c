// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCoding
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// One load of an `http:` or `https:` URL. It gets a connection, sends the request on it, and reports the events to the
/// client.
///
/// Everything runs on the event loop that has the origin's connections. Calls from other threads are moved there.
final class HTTPLoad: ProtocolLoad, @unchecked Sendable {  // … because the mutable state is used on its event loop only
    enum State {
        case created
        /// Waiting for a connection.
        case waiting(ConnectionPool.Ticket?)
        /// Waiting for a server-trust decision.
        case evaluatingTrust(any HTTPStream, ServerTrust)
        case exchanging(any HTTPStream)
        /// The head of a response has arrived. It is not decided yet how the load continues.
        case deciding(any HTTPStream, ReceivedResponse)
        /// The proxy requires authentication before it opens a tunnel. Without a credential the load fails with this
        /// error.
        case awaitingProxyCredential(LoadError)
        /// Waiting for a body that can be sent again.
        case awaitingBody
        case over
    }

    enum Place {
        case none
        /// The load waits for a connection to become free.
        case queue
        /// The load left the queue, because a connection is being opened for it. If that fails, it continues to wait.
        case besideQueue
    }

    let client: any ProtocolClient
    let pools: HTTPConnectionPools
    let shard: HTTPConnectionPools.EventLoopShard
    /// Changes when the load gets a credential for the proxy.
    var key: ConnectionKey
    /// The request that is sent. Changes when the load gets a credential or another body.
    var request: Request
    var state = State.created

    private(set) var preparedRequest: PreparedRequest
    private(set) var upload: RequestBodyWriter?
    var sentBytes: Int64 = 0
    lazy var authentication = AuthenticationAttempts(
        to: key, sending: request.fields[.authorization].flatMap(PasswordCredential.init(basicValue:)))
    /// What answers the origin's challenge.
    var authorization: Authorization?
    /// What the response has to prove, if it says so.
    private(set) var proof: Authorization.Proof?
    var resends = ResendPolicy()
    /// Whether the body may wait for a `100 (Continue)`. False after a server has refused that.
    var mayExpect = true
    /// The state of the wait for a connection, as reported to the client.
    var place = Place.none
    /// Whether a server passed the request over. The load then goes before loads that came later.
    var wasPassedOver = false
    /// Whether the connection is secure, and its certificate is trusted without an exception.
    var isVerified = false
    /// Whether a response has begun, an interim one included.
    var hasBegun = false
    /// The open challenge about a connection.
    weak var openChallenge: AuthenticationChallenge?
    /// How many server-trust challenges the load has made about connections that other loads opened.
    var trustChallengeCount = 0
    /// The server that this load itself has accepted.
    var trusted: ServerTrust?
    /// Whether the thread that runs the event loop is going to wait for the load.
    var isAwaited = false
    /// The stage between the connection and the client, if the body needs one.
    var stage: (any ResumableStage)?

    init(_ request: Request, client: any ProtocolClient, key: ConnectionKey, pools: HTTPConnectionPools) throws(LoadError) {
        self.request = request
        self.client = client
        self.key = key
        self.pools = pools
        shard = pools.shard(for: key)
        preparedRequest = try PreparedRequest(request, configuration: pools.configuration)
        try preparedRequest.authorize(toProxyOf: key, sending: request.body)
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
        if loop.isOnLoop {
            body(self)
        } else if loop.enter() {
            body(self)
            loop.leave()
        } else {
            loop.execute { body(self) }
        }
    }

    // MARK: Life cycle, on the event loop

    private func begin() {
        guard case .created = state else { return }
        do throws(LoadError) {
            upload = try request.body.map { body throws(LoadError) in try RequestBodyWriter(body) }
        } catch {
            return fail(error)
        }
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
        case .exchanging(let stream):
            switch stage?.resume() ?? .keepGoing {
            case .keepGoing: stream.resumeReading(self)
            case .pause: break
            // The stage has delivered the end to the client, or the client wants none.
            case .stopped:
                end()
                client.didTransfer(stream.report)
                stream.cancel(self)
            }
        // The client does not follow the offered redirect.
        case .deciding(let stream, let received): deliver(received, from: stream)
        // The response is complete, and the stage still buffers some of it.
        case .over: _ = stage?.resume()
        case .created, .waiting, .awaitingProxyCredential, .evaluatingTrust, .awaitingBody: break
        }
    }

    private func stop() {
        stage = nil
        switch state {
        case .waiting(let ticket):
            end()
            if let ticket { shard.pool?.cancel(ticket) }
        case .exchanging(let stream), .deciding(let stream, _), .evaluatingTrust(let stream, _):
            end()
            client.didTransfer(stream.report)
            stream.cancel(self)
        case .created, .awaitingProxyCredential, .awaitingBody: end()
        case .over: break
        }
    }

    /// Ends the load, and its wait for a connection, and closes the body.
    func end() {
        state = .over
        endWait()
        upload?.close()
        upload = nil
    }

    func fail(_ error: LoadError) {
        end()
        (stage ?? client).didFail(with: error)
    }

    /// Sends the request again, on this connection if it is free by then, or on another one.
    ///
    /// - Parameter error: the reason; `nil` if a response requires it.
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
            try preparedRequest.authorize(toProxyOf: key, sending: request.body)
            proof = try authorization.flatMap { authorization throws(LoadError) in
                try preparedRequest.authorize(by: authorization, sending: request.body)
            }
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

    func drive(for waiter: LoadWaiter) -> Bool {
        let loop = shard.loop
        loop.enterInTime()
        defer { loop.leave() }
        guard let transport = transportInUse else { return false }
        return transport.drive(for: waiter) { [self] in transportInUse === transport }
    }

    /// The transport of the current exchange.
    private var transportInUse: (any ByteConnection)? {
        guard case .exchanging(let stream) = state else { return nil }
        return stream.transport
    }
}

extension LoadError {
    fileprivate static func bodyCannotBeSentAgain(to key: ConnectionKey, after error: LoadError?) -> LoadError {
        let why = error.map { ": \($0.message)" } ?? ""
        return LoadError(
            .bodyFailed, message: "the body has to be sent to \(key) again, but can be read only once; give a rewindable one\(why)",
            underlyingError: error)
    }
}
