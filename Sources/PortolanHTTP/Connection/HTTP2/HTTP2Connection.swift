// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport
import PortolanHTTPSyntax

/// An HTTP/2 connection: carries many exchanges at once, each on a stream. In the turns of its loop only.
///
/// The protocol's state machine is an ``HTTP2Session``. Content goes from the receive buffer to the exchange as it lies there. Frames that are
/// submitted in one turn leave in one write at its end.
///
/// RFC 9113
final class HTTP2Connection {
    enum State {
        case open
        /// Takes no more streams; those that it has go on.
        case retired
        /// Waits for the transport to end.
        case closing
        case closed
    }

    let trust: ServerTrust?
    let key: ConnectionKey
    let limits: HTTPLimits
    let expectation: ExpectationPolicy
    /// What is the same for each stream's report.
    let base: TransferReport
    private weak var pool: ConnectionPool?
    private(set) var transport: (any ByteConnection)?
    /// `nil` where there is no memory for it.
    let session: HTTP2Session?

    private(set) var state = State.open
    private(set) var idleSince: UInt64?
    private(set) var streams = HTTP2StreamTable()
    /// Streams that are open, and those that are about to be.
    private var openCount = 0
    private var exchangeCount = 0
    /// Whether a response has come to its end.
    var hasAnswered = false
    private var nextNumber: Int32 = 1
    /// How many streams the server allows at once; until its settings arrive what it should allow at least (RFC 9113 §6.5.2), which is also nghttp2's
    /// assumption.
    private var streamLimit = HTTP2Connection.assumedStreamLimit
    private static let assumedStreamLimit = 100
    /// Streams from this number on wait because the server allows none at all.
    private var firstHeld: Int32?
    /// How long they wait.
    private let patience: Duration
    private var impatience: ScheduledTimer?

    private var isTransportClosed = false

    var receiving: Receiving
    var sending = Sending()
    /// What the streams' windows may still grow by together.
    var growthBudget = HTTP2ReceiveWindow.growthLimit

    init(key: ConnectionKey, configuration: HTTPConfiguration, report: TransferReport, trust: ServerTrust?) {
        self.key = key
        self.trust = trust
        limits = configuration.limits
        expectation = configuration.expectation
        base = report
        patience = configuration.connections.connectTimeout
        receiving = Receiving(limits)
        session = HTTP2Session(receiving.options)
    }

    /// From now on the connection is the pool's, and `transport` belongs to the connection. Without a pool it closes when it carries nothing.
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
    /// Bytes that wait are frames, and no sign of an end, which the poller reports.
    var isAlive: Bool { isActive }

    var room: Int {
        guard case .open = state, session != nil else { return 0 }
        // Where none is allowed loads wait here, with a limit, and not in the pool, which knows of none.
        return max(0, (streamLimit == 0 ? Self.assumedStreamLimit : streamLimit) - openCount)
    }

    func makeCarrier(for transaction: any HTTPTransaction) -> any HTTPStream {
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

    /// No more streams from here on.
    func retire() {
        guard case .open = state else { return }
        state = .retired
        pool?.retire(self, key)
    }

    /// Sends what the session has to say at last, and closes the transport; later, where the session is busy in this very turn.
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
    /// - Returns: the stream's number; `nil` where the connection takes no streams any more.
    func open(_ stream: HTTP2Stream, _ fields: HTTP2FieldBlock, hasBody: Bool) -> Int32? {
        guard case .open = state, transport != nil, let number = session?.submit(fields, hasBody: hasBody) else { return nil }
        streams.append(stream, number: number)
        if number >= .max - 2 { retire() } else { nextNumber = number + 2 }
        if streamLimit == 0 { awaitPermission(number) }
        flushSoon()
        return number
    }

    /// A stream is over for the connection, or never came to be.
    ///
    /// - Parameters:
    ///   - number: `nil` where it never had one.
    ///   - growth: what it took of the budget.
    ///   - code: with which the stream is reset, before another one gets its place; `nil` where the server knows.
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
            // Without a pool nobody would ever use it, or close it.
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
            stream.leavesConnection()
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
    /// nghttp2 holds the request back until the server allows one, which it should do soon (RFC 9113 §6.5.2).
    private func awaitPermission(_ number: Int32) {
        guard firstHeld == nil else { return }
        firstHeld = number
        impatience = transport?.loop.schedule(after: patience) { [connection = TurnBound(self)] in connection.value.patienceEnds() }
    }

    private func stopWaiting() {
        impatience?.cancel()
        (impatience, firstHeld) = (nil, nil)
    }

    /// The streams that wait fail; the next load finds another connection, on which the server may allow some.
    private func patienceEnds() {
        guard let first = firstHeld else { return }
        stopWaiting()
        retire()
        let held = stride(from: first, to: nextNumber, by: 2).filter { streams.find($0) != nil }
        // Or they would leave once the server allows it.
        for number in held { session?.reset(number, .cancel) }
        failStreams(above: first - 1, .allowsNoStream(key, after: patience), eligibility: .seen)
        flushSoon()
        roomChanged(hadRoom: true)
    }
}

// MARK: Its end

extension HTTP2Connection {
    /// The server broke a rule in such a way that the connection can't go on.
    ///
    /// No request on it is sent again: the server may have acted on it.
    func end(_ breach: HTTP2ProtocolRule, _ code: HTTP2ErrorCode) {
        guard isActive else { return }
        retire()
        state = .closing
        session?.terminate(code)
        stopWaiting()
        failStreams(above: 0, .http2(breach, code, from: key, isGreeted: receiving.isGreeted), eligibility: .seen)
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
