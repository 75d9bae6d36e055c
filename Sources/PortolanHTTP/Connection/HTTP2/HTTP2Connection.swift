// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// An HTTP/2 connection. It carries many exchanges at once, each on a stream. On the event loop only.
///
/// The protocol's state machine is an ``HTTP2Session``. Content goes from the receive buffer to the exchange without a
/// copy. Frames that are submitted in one event-loop iteration are sent in one write at its end.
///
/// RFC 9113
final class HTTP2Connection {
    enum State {
        case open
        /// Accepts no more streams. Its open streams continue.
        case retired
        /// Waits for the transport to end.
        case closing
        case closed
    }

    let trust: ServerTrust?
    let key: ConnectionKey
    let limits: HTTPLimits
    let expectContinue: ExpectContinuePolicy
    /// The part of the report that is the same for each stream.
    let base: TransferReport
    private weak var pool: ConnectionPool?
    private(set) var transport: (any ByteConnection)?
    /// `nil` if there is no memory for it.
    let session: HTTP2Session?

    private(set) var state = State.open
    private(set) var idleSince: UInt64?
    private(set) var streams = HTTP2StreamTable()
    /// Number of streams that are open, or about to be.
    private var openCount = 0
    private var exchangeCount = 0
    /// Whether a response has come to its end.
    var hasResponded = false
    private var nextNumber: Int32 = 1
    /// How many streams the server allows at once. Until its settings arrive, this is the least that a server should
    /// allow (RFC 9113 §6.5.2), which nghttp2 assumes, too.
    private var streamLimit = HTTP2Connection.assumedStreamLimit
    private static let assumedStreamLimit = 100
    /// Streams from this number on wait, because the server allows none.
    private var firstHeld: Int32?
    /// How long these streams wait.
    private let patience: Duration
    private var impatience: ScheduledTimer?

    private var isTransportClosed = false

    var receiving: Receiving
    var sending = Sending()
    /// By how many bytes the windows of all streams together may still grow.
    var growthBudget = HTTP2ReceiveWindow.growthLimit

    init(key: ConnectionKey, configuration: HTTPConfiguration, report: TransferReport, trust: ServerTrust?) {
        self.key = key
        self.trust = trust
        limits = configuration.messageLimits
        expectContinue = configuration.expectContinue
        base = report
        patience = configuration.connectionLimits.connectTimeout
        receiving = Receiving(limits)
        session = HTTP2Session(receiving.options)
    }

    /// The connection belongs to the pool from now on, and `transport` belongs to the connection. Without a pool the
    /// connection closes when it carries nothing.
    func join(_ pool: ConnectionPool?, over transport: any ByteConnection) {
        self.pool = pool
        self.transport = transport
        idleSince = transport.loop.now
        session?.widenReceiveWindow(of: 0, by: HTTP2ReceiveWindow.connection - Receiving.protocolWindow)
        flushSoon()
    }

    var isActive: Bool {
        switch state {
        case .open, .retired: true
        case .closing, .closed: false
        }
    }
}

// MARK: From the pool

extension HTTP2Connection: PooledConnection {
    var isMultiplexed: Bool { true }
    /// Unread bytes are frames and do not mean that the connection ended. The poller reports the end.
    var isAlive: Bool { isActive }

    var room: Int {
        guard case .open = state, session != nil else { return 0 }
        // If the server allows no stream, loads wait here, with a time limit. They do not wait in the pool, which
        // enforces no limit.
        return max(0, (streamLimit == 0 ? Self.assumedStreamLimit : streamLimit) - openCount)
    }

    func makeStream(for transaction: any HTTPTransaction) -> any HTTPStream {
        idleSince = nil
        openCount += 1
        exchangeCount += 1
        return HTTP2Stream(transaction, on: self, isReused: exchangeCount > 1)
    }

    func close() {
        guard isActive else { return }
        retire()
        state = .closing
        session?.terminate(.noError)
        endTransport()
    }

    /// Accepts no more streams from now on.
    func retire() {
        guard case .open = state else { return }
        state = .retired
        pool?.retire(self, key)
    }

    /// Sends the session's last frames and closes the transport. If the session is being called, this happens after
    /// that call.
    func endTransport() {
        guard case .closing = state, !isTransportClosed, !receiving.isBusy, !sending.isBusy else { return }
        isTransportClosed = true
        flushLast()
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
        if number >= .max - 2 { retire() } else { nextNumber = number + 2 }
        if streamLimit == 0 { awaitPermission(number) }
        flushSoon()
        return number
    }

    /// Releases the place of a stream that has ended, or was never opened.
    ///
    /// - Parameters:
    ///   - number: `nil` if the stream never had a number.
    ///   - growth: how much of the growth budget the stream used, in bytes.
    ///   - code: the code with which the stream is reset, before another one gets its place; `nil` if the server knows
    ///     that it ended.
    func release(_ number: Int32?, growth: Int, resetting code: HTTP2ErrorCode?) {
        if let number {
            streams.remove(number)
            if let code, isActive {
                session?.reset(number, code)
                flushSoon()
            }
        }
        let hadRoom = room > 0
        openCount -= 1
        growthBudget += growth
        roomChanged(hadRoom: hadRoom)
    }

    func roomChanged(hadRoom: Bool) {
        switch state {
        case .open:
            guard openCount == 0 || !hadRoom && room > 0 else { return }
            if openCount == 0 { idleSince = transport?.loop.now }
            // Without a pool the connection would never be used again, or closed.
            if let pool { pool.hasRoom(self, key) } else if openCount == 0 { close() }
        case .retired: if openCount == 0 { close() }
        case .closing, .closed: break
        }
    }

    /// Ends all streams above `number`, each with `error`.
    func failStreams(above number: Int32, _ error: LoadError, eligibility: RetryEligibility? = nil) {
        let failed = streams.removeAll(above: number)
        for stream in failed {
            openCount -= 1
            growthBudget += stream.window.growth
            stream.didLeaveConnection()
        }
        for stream in failed { stream.fail(error, eligibility: eligibility) }
    }

    func serverAllows(streams limit: Int) {
        let hadRoom = room > 0
        streamLimit = limit
        if limit > 0 { stopWaiting() }
        if !hadRoom, room > 0 { pool?.hasRoom(self, key) }
    }
}

// MARK: A server that allows no stream

extension HTTP2Connection {
    /// nghttp2 queues the request until the server allows a stream, which it should do soon (RFC 9113 §6.5.2).
    private func awaitPermission(_ number: Int32) {
        guard firstHeld == nil else { return }
        firstHeld = number
        impatience = transport?.loop.schedule(after: patience) { [connection = LoopBound(self)] in connection.value.patienceEnds() }
    }

    private func stopWaiting() {
        impatience?.cancel()
        (impatience, firstHeld) = (nil, nil)
    }

    /// Fails the streams that wait. The next load finds another connection, on which the server may allow streams.
    private func patienceEnds() {
        guard let first = firstHeld else { return }
        stopWaiting()
        retire()
        let held = stride(from: first, to: nextNumber, by: 2).filter { streams.find($0) != nil }
        // Otherwise the requests would be sent once the server allows it.
        for number in held { session?.reset(number, .cancel) }
        failStreams(above: first - 1, .allowsNoStream(key, after: patience), eligibility: .seen)
        flushSoon()
        roomChanged(hadRoom: true)
    }
}

// MARK: Its end

extension HTTP2Connection {
    /// Ends the connection, because the server broke a rule in such a way that the connection can't continue.
    ///
    /// No request on the connection is sent again, because the server may have acted on it.
    func end(_ violation: HTTP2ProtocolRule, _ code: HTTP2ErrorCode) {
        guard isActive else { return }
        retire()
        state = .closing
        session?.terminate(code)
        stopWaiting()
        failStreams(above: 0, .http2(violation, code, from: key, isGreeted: receiving.isGreeted), eligibility: .seen)
        endTransport()
    }

    func transportDidEnd(_ failure: SocketError?) {
        if case .closed = state { return }
        state = .closed
        idleSince = nil
        stopWaiting()
        pool?.didClose(self, key)
        failStreams(above: 0, .cutOff(key, failure))
        transport = nil
    }
}
