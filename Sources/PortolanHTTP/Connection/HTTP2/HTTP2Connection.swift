// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// An HTTP/2 connection. It carries many transactions at the same time, each on a stream. Use it on its event loop
/// only.
///
/// An ``HTTP2Session`` is the state machine of the protocol. Content goes from the receive buffer to the transaction
/// without a copy. The frames that loads submit in one event-loop iteration are sent together at its end.
///
/// RFC 9113
final class HTTP2Connection {
    enum State {
        case open
        /// Accepts no more streams. Its open streams continue.
        case draining
        /// Waits for the transport to end.
        case closing
        case closed
    }

    let trust: ServerTrust?
    let key: ConnectionKey
    let limits: HTTPLimits
    let expectContinue: ExpectContinuePolicy
    /// The part of the report that is the same for each stream.
    let baseReport: TransferReport
    private weak var pool: ConnectionPool?
    private(set) var transport: (any ByteConnection)?
    /// `nil` if there was no memory for it.
    let session: HTTP2Session?

    private(set) var state = State.open
    private(set) var idleSince: UInt64?
    private(set) var streams = HTTP2StreamTable()
    /// The number of open streams, and of streams that will be opened.
    private var openStreamCount = 0
    private var transactionCount = 0
    /// Whether the server has completed a response on this connection.
    var hasResponded = false
    private var nextStreamNumber: Int32 = 1
    /// How many streams the server allows at the same time. Until its settings arrive, nghttp2 and this class assume
    /// 100, the recommended minimum (RFC 9113 §6.5.2).
    private var streamLimit = HTTP2Connection.assumedStreamLimit
    private static let assumedStreamLimit = 100
    /// The lowest number of a stream that waits, because the server allows no streams; `nil` if none waits.
    private var firstWaitingStream: Int32?
    /// How long streams wait if the server allows none.
    private let streamWaitLimit: Duration
    private var streamWaitTimer: ScheduledTimer?

    private var isTransportClosed = false

    var receiving: Receiving
    var sending = Sending()
    /// By how many more bytes the windows of all streams together can grow.
    var remainingWindowGrowth = HTTP2ReceiveWindow.growthLimit

    init(key: ConnectionKey, configuration: HTTPConfiguration, report: TransferReport, trust: ServerTrust?) {
        self.key = key
        self.trust = trust
        limits = configuration.messageLimits
        expectContinue = configuration.expectContinue
        baseReport = report
        streamWaitLimit = configuration.connectionLimits.connectTimeout
        receiving = Receiving(limits)
        session = HTTP2Session(receiving.options)
    }

    /// Sets the pool and the transport of a new connection. Without a pool, the connection closes when its last stream
    /// has ended.
    func attach(to pool: ConnectionPool?, over transport: any ByteConnection) {
        self.pool = pool
        self.transport = transport
        idleSince = transport.loop.now
        session?.widenReceiveWindow(of: 0, by: HTTP2ReceiveWindow.connection - Receiving.protocolWindow)
        scheduleFlush()
    }

    var isActive: Bool {
        switch state {
        case .open, .draining: true
        case .closing, .closed: false
        }
    }
}

// MARK: From the pool

extension HTTP2Connection: PooledConnection {
    var isMultiplexed: Bool { true }
    /// Unread bytes are frames, and do not make the connection unusable. The poller reports the connection's end.
    var isAlive: Bool { isActive }

    var availableStreamCount: Int {
        guard case .open = state, session != nil else { return 0 }
        // If the server allows no streams, loads wait here for at most `streamWaitLimit`. In the pool's queue, they
        // would usually wait longer.
        return max(0, (streamLimit == 0 ? Self.assumedStreamLimit : streamLimit) - openStreamCount)
    }

    func beginTransaction(_ transaction: any HTTPTransaction) -> any HTTPStream {
        idleSince = nil
        openStreamCount += 1
        transactionCount += 1
        return HTTP2Stream(transaction, on: self, isReused: transactionCount > 1)
    }

    func close() {
        guard isActive else { return }
        stopAcceptingStreams()
        state = .closing
        session?.terminate(.noError)
        endTransport()
    }

    /// Accepts no more streams. The open streams continue.
    func stopAcceptingStreams() {
        guard case .open = state else { return }
        state = .draining
        pool?.connectionStoppedAccepting(self, for: key)
    }

    /// Sends the session's last frames and closes the transport, if the connection is closing.
    ///
    /// Does nothing during a call of the session. The caller of the session calls this method again after that.
    func endTransport() {
        guard case .closing = state, !isTransportClosed, !receiving.isBusy, !sending.isBusy else { return }
        isTransportClosed = true
        flushFinalFrames()
        transport?.close()
    }
}

// MARK: Streams

extension HTTP2Connection {
    /// Submits the request of `stream`.
    ///
    /// - Returns: the stream's number; `nil` if the connection accepts no more streams.
    func open(_ stream: HTTP2Stream, _ fields: HTTP2FieldBlock, hasBody: Bool) -> Int32? {
        guard case .open = state, transport != nil, let number = session?.submit(fields, hasBody: hasBody) else { return nil }
        streams.append(stream, number: number)
        if number >= .max - 2 { stopAcceptingStreams() } else { nextStreamNumber = number + 2 }
        if streamLimit == 0 { startStreamWait(number) }
        scheduleFlush()
        return number
    }

    /// Removes a stream that has ended or was never opened, and resets it if `code` is not `nil`.
    ///
    /// - Parameters:
    ///   - number: `nil` if the stream never had a number.
    ///   - growth: by how many bytes the window of the stream has grown.
    ///   - code: the code with which the stream is reset; `nil` if the server knows that the stream has ended.
    func release(_ number: Int32?, growth: Int, resetting code: HTTP2ErrorCode?) {
        if let number {
            streams.remove(number)
            if let code, isActive {
                session?.reset(number, code)
                scheduleFlush()
            }
        }
        let wasAvailable = availableStreamCount > 0
        openStreamCount -= 1
        remainingWindowGrowth += growth
        availabilityChanged(wasAvailable: wasAvailable)
    }

    /// Notifies the pool if the connection accepts streams again, and closes a connection that is no longer used.
    ///
    /// - Parameter wasAvailable: whether the connection accepted streams before the change.
    func availabilityChanged(wasAvailable: Bool) {
        switch state {
        case .open:
            guard openStreamCount == 0 || !wasAvailable && availableStreamCount > 0 else { return }
            if openStreamCount == 0 { idleSince = transport?.loop.now }
            // Without a pool, nothing would use or close the connection.
            if let pool { pool.connectionBecameAvailable(self, for: key) } else if openStreamCount == 0 { close() }
        case .draining: if openStreamCount == 0 { close() }
        case .closing, .closed: break
        }
    }

    /// Fails all streams with a number above `number`.
    func failStreams(above number: Int32, _ error: LoadError, eligibility: RetryEligibility? = nil) {
        let failedStreams = streams.removeAll(above: number)
        for stream in failedStreams {
            openStreamCount -= 1
            remainingWindowGrowth += stream.window.growth
            stream.wasReleased()
        }
        for stream in failedStreams { stream.fail(error, eligibility: eligibility) }
    }

    func setStreamLimit(_ limit: Int) {
        let wasAvailable = availableStreamCount > 0
        streamLimit = limit
        if limit > 0 { endStreamWait() }
        if !wasAvailable, availableStreamCount > 0 { pool?.connectionBecameAvailable(self, for: key) }
    }
}

// MARK: A server that allows no stream

extension HTTP2Connection {
    /// Limits the time for which nghttp2 queues requests until the server allows a stream (RFC 9113 §6.5.2).
    private func startStreamWait(_ number: Int32) {
        guard firstWaitingStream == nil else { return }
        firstWaitingStream = number
        streamWaitTimer = transport?.loop.schedule(after: streamWaitLimit) { [connection = LoopBound(self)] in
            connection.value.streamWaitTimedOut()
        }
    }

    private func endStreamWait() {
        streamWaitTimer?.cancel()
        (streamWaitTimer, firstWaitingStream) = (nil, nil)
    }

    /// Fails the streams that wait. The next load opens another connection.
    private func streamWaitTimedOut() {
        guard let first = firstWaitingStream else { return }
        endStreamWait()
        stopAcceptingStreams()
        let waitingStreams = stride(from: first, to: nextStreamNumber, by: 2).filter { streams.find($0) != nil }
        // Otherwise nghttp2 would send the requests when the server allows streams.
        for number in waitingStreams { session?.reset(number, .cancel) }
        failStreams(above: first - 1, .allowsNoStream(key, after: streamWaitLimit), eligibility: .possiblyProcessed)
        scheduleFlush()
        availabilityChanged(wasAvailable: true)
    }
}

// MARK: The end of the connection

extension HTTP2Connection {
    /// Ends the connection after a connection error.
    ///
    /// No request on the connection is sent again, because the server can have acted on it.
    func end(_ violation: HTTP2ProtocolRule, _ code: HTTP2ErrorCode) {
        guard isActive else { return }
        stopAcceptingStreams()
        state = .closing
        session?.terminate(code)
        endStreamWait()
        failStreams(
            above: 0, .http2(violation, code, from: key, hasReceivedSettings: receiving.hasReceivedSettings),
            eligibility: .possiblyProcessed)
        endTransport()
    }

    func transportDidEnd(_ failure: SocketError?) {
        if case .closed = state { return }
        state = .closed
        idleSince = nil
        endStreamWait()
        pool?.didClose(self, key)
        failStreams(above: 0, .connectionLost(key, failure))
        transport = nil
    }
}
