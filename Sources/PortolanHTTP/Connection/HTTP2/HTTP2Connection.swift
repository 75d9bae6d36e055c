// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOHTTP2
import PortolanCore

/// An HTTP/2 connection: carries many exchanges at once, each on a stream of its own. The last handler of its channel, on the channel's event
/// loop only.
///
/// The protocol's machine, HPACK and the frames are `NIOHTTP2Handler`'s, in front of this one. Streams are no channels here: a frame goes
/// straight to its stream, and content from the frame to the exchange as it lies there.
///
/// RFC 9113
final class HTTP2Connection {
    enum State {
        case open
        /// Takes no more streams; those that it has go on.
        case retired
        /// Waits for the channel to close.
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
    var context: ChannelHandlerContext?

    private(set) var state = State.open
    private(set) var idleSince: UInt64?
    private var streams = HTTP2StreamTable()
    /// Streams that are open, and those that will be in a moment.
    private var openCount = 0
    private var exchangeCount = 0
    /// Whether a response has come to its end.
    var hasAnswered = false
    private var nextNumber: Int32 = 1
    /// How many streams the server allows at once; until it has said so what it should allow at least (RFC 9113 §6.5.2), which is what
    /// `NIOHTTP2Handler` goes by where nothing is said.
    private var streamLimit = HTTP2Connection.assumedStreamLimit
    private static let assumedStreamLimit = 100
    /// Streams from this number on wait since the server allows none at all.
    private var firstHeld: Int32?
    /// How long they wait.
    private let patience: TimeAmount
    private var impatience: Scheduled<Void>?
    /// Whether the server's first frame was what it has to be.
    private var isGreeted = false

    private var window = HTTP2ReceiveWindow(HTTP2ReceiveWindow.connection)
    /// What the streams' windows may still grow by together.
    var growthBudget = HTTP2ReceiveWindow.growthLimit
    /// What the server may send on each stream beyond what the protocol's machine knows of, until it has acknowledged our settings.
    var unacknowledgedWindow = HTTP2ReceiveWindow.streamStart - HTTP2Connection.protocolWindow

    private var willFlush = false
    /// The stream that `NIOHTTP2Handler` reset just now; why, it says next.
    private var streamInError: Int32?
    /// What the server was told of its last error by `NIOHTTP2Handler`.
    private var errorCode: HTTP2ErrorCode?

    /// What a window is before anybody has said otherwise.
    static let protocolWindow = 65_535

    init(key: ConnectionKey, configuration: HTTPConfiguration, report: TransferReport, trust: ServerTrust?) {
        self.key = key
        self.trust = trust
        limits = configuration.limits
        expectation = configuration.expectation
        base = report
        patience = TimeAmount(configuration.connections.connectTimeout)
    }

    /// From now on the connection is the pool's.
    func join(_ pool: ConnectionPool) {
        self.pool = pool
        idleSince = pool.loop.now
    }
}

// MARK: From the pool

extension HTTP2Connection: PooledConnection {
    var isMultiplexed: Bool { true }
    var isAlive: Bool { true }

    var room: Int {
        guard case .open = state else { return 0 }
        // Where none is allowed loads wait here, with a limit, and not in the pool, which knows of none.
        return max(0, (streamLimit == 0 ? Self.assumedStreamLimit : streamLimit) - openCount)
    }

    func makeCarrier(for exchange: any Exchange) -> any ExchangeCarrier {
        idleSince = nil
        openCount += 1
        exchangeCount += 1
        return HTTP2Stream(exchange, on: self, isReused: exchangeCount > 1)
    }

    func close() {
        switch state {
        case .open, .retired: break
        case .closing, .closed: return
        }
        retire()
        state = .closing
        send(.goAway(lastStreamID: .rootStream, errorCode: .noError, opaqueData: nil), on: 0)
        context?.flush()
        context?.close(promise: nil)
    }

    /// No more streams from here on.
    private func retire() {
        guard case .open = state else { return }
        state = .retired
        pool?.retire(self, key)
    }
}

// MARK: Streams

extension HTTP2Connection {
    /// Gives `stream` its number; `nil` where the connection takes no streams any more.
    func open(_ stream: HTTP2Stream) -> Int32? {
        guard case .open = state, context != nil else { return nil }
        let number = nextNumber
        streams.append(stream, number: number)
        if number >= .max - 2 { retire() } else { nextNumber += 2 }
        if streamLimit == 0 { awaitPermission(number) }
        return number
    }

    /// A stream is over for the connection, or never came to be.
    ///
    /// - Parameters:
    ///   - number: `nil` where it never had one.
    ///   - growth: what it took of the budget.
    ///   - code: what the server is told of it, before anybody else gets its place; `nil` where it knows.
    func release(_ number: Int32?, growth: Int, resetting code: HTTP2ErrorCode?) {
        if let number {
            streams.remove(number)
            if let code { send(.rstStream(code), on: number) }
        }
        let hadRoom = room > 0
        openCount -= 1
        growthBudget += growth
        roomChanged(hadRoom: hadRoom)
    }

    private func roomChanged(hadRoom: Bool) {
        switch state {
        case .open:
            guard openCount == 0 || !hadRoom && room > 0 else { return }
            if openCount == 0 { idleSince = context?.eventLoop.now.uptimeNanoseconds }
            // Without a pool nobody would ever use it, or close it.
            if let pool { pool.hasRoom(self, key) } else if openCount == 0 { close() }
        case .retired: if openCount == 0 { close() }
        case .closing, .closed: break
        }
    }

    /// Ends all streams above `number`, each with `error`.
    private func failStreams(above number: Int32, _ error: LoadError, fate: RequestFate? = nil) {
        let failed = streams.removeAll(above: number)
        for stream in failed {
            openCount -= 1
            growthBudget += stream.window.growth
            stream.leavesConnection()
        }
        for stream in failed { stream.fail(error, fate: fate) }
    }

    func send(
        _ payload: HTTP2Frame.FramePayload, on number: Int32, promise: EventLoopPromise<Void>? = nil
    ) {
        guard let context else {
            promise?.fail(ChannelError.ioOnClosedChannel)
            return
        }
        context.write(wrapOutboundOut(HTTP2Frame(streamID: HTTP2StreamID(number), payload: payload)), promise: promise)
        flushSoon()
    }

    /// Frames of all streams that are written in one turn of the event loop go out together.
    private func flushSoon() {
        guard !willFlush, let context else { return }
        willFlush = true
        context.eventLoop.assumeIsolated().execute { [self] in
            willFlush = false
            self.context?.flush()
        }
    }
}

// MARK: A server that allows no stream

extension HTTP2Connection {
    /// The stream is held back by `NIOHTTP2Handler` until the server allows one, which it should do soon (RFC 9113 §6.5.2).
    private func awaitPermission(_ number: Int32) {
        guard firstHeld == nil, let loop = context?.eventLoop else { return }
        firstHeld = number
        impatience = loop.assumeIsolated().scheduleTask(in: patience) { [weak self] in self?.givesUpWaiting() }
    }

    private func stopWaiting() {
        impatience?.cancel()
        (impatience, firstHeld) = (nil, nil)
    }

    /// Whoever waited fails; the next load finds another connection, on which the server may be of another mind.
    private func givesUpWaiting() {
        guard let first = firstHeld else { return }
        stopWaiting()
        retire()
        let held = stride(from: first, to: nextNumber, by: 2).filter { streams.find($0) != nil }
        failStreams(above: first - 1, .allowsNoStream(key, after: patience), fate: .seen)
        // Or they would leave once the server allows it.
        for number in held { send(.rstStream(.cancel), on: number) }
        roomChanged(hadRoom: true)
    }
}

// MARK: From the channel

extension HTTP2Connection {
    func begin() {
        send(.windowUpdate(windowSizeIncrement: HTTP2ReceiveWindow.connection - Self.protocolWindow), on: 0)
    }

    func receive(_ frame: HTTP2Frame) {
        switch frame.payload {
        case .data(let data):
            if let stream = streams.find(Int32(frame.streamID)), case .byteBuffer(let bytes) = data.data {
                stream.receive(bytes, endsStream: data.endStream)
            }
        case .headers(let headers):
            streams.find(Int32(frame.streamID))?.receive(headers.headers, endsStream: headers.endStream)
        case .rstStream(let code): streams.find(Int32(frame.streamID))?.receiveReset(code)
        case .goAway(let last, let code, _):
            retire()
            let servesOthers = hasAnswered || streams.hasAny(upTo: Int32(last))
            failStreams(above: Int32(last), .passedOver(by: key, code), fate: .passedOver(afterOthers: servesOthers))
            roomChanged(hadRoom: true)
        case .settings(.settings(let settings)): heed(settings)
        case .settings(.ack), .priority, .pushPromise, .ping, .windowUpdate, .alternativeService, .origin: break
        }
    }

    private func heed(_ settings: HTTP2Settings) {
        isGreeted = true
        // RFC 9113 §6.5.2
        if let push = settings.last(where: { $0.parameter == .enablePush }), push.value != 0 {
            send(.goAway(lastStreamID: .rootStream, errorCode: .protocolError, opaqueData: nil), on: 0)
            context?.flush()
            return failed(NIOHTTP2Errors.invalidSetting(setting: push))
        }
        guard let limit = settings.last(where: { $0.parameter == .maxConcurrentStreams })?.value else { return }
        let hadRoom = room > 0
        streamLimit = limit
        if limit > 0 { stopWaiting() }
        if !hadRoom, room > 0 { pool?.hasRoom(self, key) }
    }

    /// The server may send so many more bytes on the stream, or on the connection.
    func windowChanged(_ number: Int32, remaining: Int) {
        if number == 0 {
            window.note(remaining: remaining)
            if let increment = window.increment() { send(.windowUpdate(windowSizeIncrement: increment), on: 0) }
        } else {
            streams.find(number)?.windowChanged(remaining: remaining + unacknowledgedWindow)
        }
    }

    func wrote(_ frame: HTTP2Frame) {
        switch frame.payload {
        // Of a stream that is still in the table, only the handler in front of us resets it.
        case .rstStream(let code) where streams.find(Int32(frame.streamID)) != nil:
            streamInError = Int32(frame.streamID)
            errorCode = code
        case .goAway(_, let code, _): errorCode = code
        default: break
        }
    }

    func streamClosed(_ number: Int32, _ code: HTTP2ErrorCode?) {
        guard number != streamInError, let stream = streams.find(number) else { return }
        stream.receiveReset(code ?? .cancel)
    }

    func failed(_ error: any Error) {
        let number = streamInError ?? (error as? NIOHTTP2Errors.StreamError).map { Int32($0.streamID) }
        let code = errorCode
        (streamInError, errorCode) = (nil, nil)
        if let number {
            streams.find(number)?.isViolated(error, code)
            return
        }
        switch state {
        case .open, .retired: break
        case .closing, .closed: return
        }
        retire()
        state = .closing
        // What could not be read may have been a response: the server has seen the request.
        let isBreach = HTTP2Breach(error, code) != nil
        failStreams(above: 0, .http2(error, code, from: key, isGreeted: isGreeted), fate: isBreach ? .seen : nil)
        context?.close(promise: nil)
    }

    func ended() {
        if case .closed = state { return }
        state = .closed
        idleSince = nil
        stopWaiting()
        pool?.didClose(self, key)
        failStreams(above: 0, .cutOff(key, nil))
    }
}
