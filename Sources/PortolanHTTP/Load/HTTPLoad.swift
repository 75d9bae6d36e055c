// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCoding
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// One load of an `http:` or `https:` URL. It gets a connection, sends the request, and reports the events to the
/// client.
///
/// It runs on the event loop of the origin's connections. Calls from other threads are passed to that loop.
final class HTTPLoad: ProtocolLoad, @unchecked Sendable {  // … because the mutable state is used on its event loop only
    enum State {
        case created
        /// Waiting for a connection.
        case waiting(ConnectionPool.Ticket?)
        /// Waiting for a server-trust decision.
        case evaluatingTrust(any HTTPStream, ServerTrust)
        case transferring(any HTTPStream)
        /// The head of a response has arrived. An answer of the client decides how the load continues.
        case deciding(any HTTPStream, ReceivedResponse)
        /// Waiting for the answer to a challenge of a proxy that has not opened the tunnel. Without a credential, the
        /// load fails with this error.
        case awaitingProxyCredential(LoadError)
        /// Waiting for a new body from the client, to send the request again.
        case awaitingBody
        case over
    }

    /// How the load waits for a connection.
    enum ConnectionWait {
        case none
        /// The load waits until another load no longer uses a connection.
        case queued
        /// The load has left the queue, because a connection is being opened for it. If that fails, the load waits
        /// again.
        case connecting
    }

    let client: any ProtocolClient
    let pools: HTTPConnectionPools
    let loopWithPool: HTTPConnectionPools.LoopWithPool
    /// Changes when the load gets a credential for the proxy, or when the server requires HTTP/1.1.
    var key: ConnectionKey
    /// The request that is sent. Changes when the load gets a credential or another body.
    var request: Request
    var state = State.created

    private(set) var preparedRequest: PreparedRequest
    private(set) var upload: RequestBodySource?
    var sentBodyByteCount: Int64 = 0
    lazy var authentication = AuthenticationAttempts(
        to: key, sending: request.fields[.authorization].flatMap(PasswordCredential.init(basicValue:)), reusing: authorization,
        countingNoncesIn: pools.nonceCounts)
    /// The source of the next request's `Authorization` field; `nil` if `request` has that field, or needs none.
    var authorization: Authorization?
    /// Checks that the server knows the password (RFC 7616 §3.5).
    private(set) var proof: Authorization.Proof?
    /// The space in which an earlier load authenticated, if this load sends the same credential without a challenge.
    var knownSpace: AuthenticatedSpaces.Match?
    /// The space in which the origin has not accepted the sent credential yet.
    var pendingSpace: PendingSpace?
    var resendPolicy = ResendPolicy()
    /// Whether the request is sent with an empty body, until the server or a proxy has sent a challenge.
    private(set) var delaysBody = false
    /// Whether the request can have `Expect: 100-continue`. `false` after a 417.
    var allowsExpectation = true
    /// The wait for a connection, as reported to the client.
    var connectionWait = ConnectionWait.none
    /// Whether a server has reported, with GOAWAY, that it did not process the request. Then the load precedes other
    /// loads of the same priority in the queue.
    var wasNotProcessed = false
    /// Whether the connection uses TLS, and its certificate was verified.
    var isVerified = false
    /// Whether a response, also an interim one, has begun.
    var hasResponseBegun = false
    /// The challenge that the client has not answered yet. A connection waits for the answer.
    weak var openChallenge: AuthenticationChallenge?
    /// The number of server-trust challenges about connections that other loads have opened.
    var trustChallengeCount = 0
    /// The trust evaluation that the client has accepted.
    var acceptedTrust: ServerTrust?
    /// Whether the current thread on the event loop is the caller's, which waits for the load afterwards.
    var callingThreadWaits = false
    /// Decodes or splits the body between the connection and the client; `nil` if the body needs neither.
    var stage: (any ResumableStage)?

    init(_ request: Request, client: any ProtocolClient, key: ConnectionKey, pools: HTTPConnectionPools) throws(LoadError) {
        self.request = request
        self.client = client
        self.key = key
        self.pools = pools
        loopWithPool = pools.loopWithPool(for: key)
        let knownSpace = Self.knownSpace(of: request)
        let delaysForProxy = pools.configuration.proxies.delaysBodies && key.usesAbsoluteForm
        delaysBody = (request.delaysBodyUntilChallenge && knownSpace == nil || delaysForProxy) && request.body != nil
        preparedRequest = try PreparedRequest(request, configuration: pools.configuration, delaysBody: delaysBody)
        try preparedRequest.authorize(toProxyOf: key, sending: request.body)
        if let (match, knownAuthorization) = knownSpace {
            (self.knownSpace, authorization) = (match, knownAuthorization)
            proof = try preparedRequest.authorize(by: knownAuthorization, sending: request.body)
        }
    }

    init(_ request: Request, client: any ProtocolClient, template: RequestTemplate, pools: HTTPConnectionPools) {
        self.request = request
        self.client = client
        key = template.key
        self.pools = pools
        loopWithPool = template.loopWithPool
        preparedRequest = PreparedRequest(request, fields: template.fields, lines: template.lines)
    }

    // MARK: From the core, on any thread

    func startLoading() { runOnLoop { $0.openBody() } }
    func resumeLoading() { runOnLoop { $0.resume() } }
    func stopLoading() { runOnLoop { $0.stop() } }

    var configuration: HTTPConfiguration { pools.configuration }

    /// Runs the operation in this thread if it is the loop's or can enter the loop. Otherwise schedules it on the loop.
    func runOnLoop(_ operation: @escaping @Sendable (HTTPLoad) -> Void) {
        let loop = loopWithPool.loop
        if loop.isOnLoop {
            operation(self)
        } else if loop.tryEnter() {
            operation(self)
            loop.leave()
        } else {
            loop.execute { operation(self) }
        }
    }

    // MARK: Life cycle, on the event loop

    private func openBody() {
        guard case .created = state else { return }
        do throws(LoadError) {
            if !delaysBody { upload = try request.body.map { body throws(LoadError) in try RequestBodySource(body) } }
        } catch {
            return fail(error)
        }
        enqueue()
    }

    private func enqueue() {
        guard let pool = loopWithPool.pool else { return }
        state = .waiting(nil)
        let ticket = pool.acquire(key, for: self, priority: request.priority, goesFirstWithinPriority: wasNotProcessed)
        guard let ticket else { return }
        if case .waiting = state { state = .waiting(ticket) } else { pool.cancel(ticket) }
    }

    private func resume() {
        switch state {
        case .transferring(let stream):
            switch stage?.resume() ?? .keepGoing {
            case .keepGoing: stream.resumeReading(self)
            case .pause: break
            // The stage has delivered the end, or the client has stopped the load.
            case .stopped:
                end()
                client.didTransfer(stream.report)
                stream.cancel(self)
            }
        // The client does not follow the redirect.
        case .deciding(let stream, let received): deliver(received, from: stream)
        // The response is complete, and the stage still buffers a part of it.
        case .over: _ = stage?.resume()
        case .created, .waiting, .awaitingProxyCredential, .evaluatingTrust, .awaitingBody: break
        }
    }

    private func stop() {
        stage = nil
        switch state {
        case .waiting(let ticket):
            end()
            if let ticket { loopWithPool.pool?.cancel(ticket) }
        case .transferring(let stream), .deciding(let stream, _), .evaluatingTrust(let stream, _):
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

    /// Sends the request again, on any connection.
    ///
    /// - Parameter error: the reason; `nil` if a response requires it.
    func sendAgain(after error: LoadError? = nil) {
        hasResponseBegun = false
        stage = nil
        if delaysBody {
            delaysBody = error != nil
            return send()
        }
        if upload.map({ $0.hasStartedReading }) ?? (request.body != nil) {
            renewBody(after: error)
        } else {
            send()
        }
    }

    private func renewBody(after error: LoadError?) {
        upload?.close()
        upload = nil
        sentBodyByteCount = 0
        if request.body?.isRewindable == true { return send() }
        state = .awaitingBody
        client.needsNewBody { [self] body in
            loopWithPool.loop.execute { [self] in
                guard case .awaitingBody = state else { return }
                guard let body else { return fail(.bodyCannotBeSentAgain(to: key, after: error)) }
                request.body = body
                send()
            }
        }
    }

    private func send() {
        do throws(LoadError) {
            preparedRequest = try PreparedRequest(
                request, configuration: configuration, allowsExpectation: allowsExpectation, delaysBody: delaysBody)
            try preparedRequest.authorize(toProxyOf: key, sending: request.body)
            proof = try authorization.flatMap { authorization throws(LoadError) in
                try preparedRequest.authorize(by: authorization, sending: request.body)
            }
            if upload == nil, !delaysBody, let body = request.body { upload = try RequestBodySource(body) }
        } catch {
            return fail(error)
        }
        enqueue()
    }
}

extension HTTPLoad: WaitableLoad {
    func startAwaitedLoading() {
        let loop = loopWithPool.loop
        guard loop.tryEnter() else { return startLoading() }
        callingThreadWaits = true
        openBody()
        callingThreadWaits = false
        loop.leave()
    }

    func drive(for waiter: LoadWaiter) -> Bool {
        let loop = loopWithPool.loop
        loop.enterWhenFree()
        defer { loop.leave() }
        guard let transport = transportInUse else { return false }
        return transport.drive(for: waiter) { [self] in transportInUse === transport }
    }

    /// The transport of the current transaction.
    private var transportInUse: (any ByteConnection)? {
        guard case .transferring(let stream) = state else { return nil }
        return stream.transport
    }
}

extension LoadError {
    fileprivate static func bodyCannotBeSentAgain(to key: ConnectionKey, after error: LoadError?) -> LoadError {
        let reason = error.map { ": \($0.message)" } ?? ""
        return LoadError(
            .bodyFailed, message: "the body has to be sent to \(key) again, but can be read only once; give a rewindable one\(reason)",
            underlyingError: error)
    }
}
