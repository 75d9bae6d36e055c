// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import PortolanCore

/// An HTTP/1.1 connection: carries one exchange after the other. The last handler of its channel, on the channel's event loop only.
///
/// Bytes go from the receive buffer to the exchange as they lie there. While the exchange is paused nothing is read from the socket; what was
/// read already is held.
///
/// RFC 9112
final class HTTP1Connection {
    /// The rest of an answer that nobody wants is read up to so many bytes, so that the connection can be used again.
    private static let discardLimit = 64 << 10
    private static let discardTime = TimeAmount.seconds(2)
    /// How many pieces of a body are sent before others have their turn.
    private static let piecesInTurn = 4

    private let key: ConnectionKey
    private let expectation: ExpectationPolicy
    private weak var pool: ConnectionPool?
    private var context: ChannelHandlerContext?
    /// What is the same for each exchange's report.
    private let base: TransferReport
    let trust: ServerTrust?

    // The exchange.
    private var exchange: (any Exchange)?
    private var reader: AnswerReader
    private var sending = Sending.done
    /// Whether the request says that it is the last one on the connection; what the answer says of that, the reader knows.
    private var isLast = false
    private var isPaused = false
    private var sentBytes: Int64 = 0
    private var receivedBytes: Int64 = 0
    private var discarded = 0

    // The connection.
    private var exchangeCount = 0
    /// Whether no exchange may begin any more; over TLS the channel closes some time later.
    private var isClosing = false
    private var isClosed = false
    private var failure: (any Error)?
    private(set) var idleSince: UInt64?
    /// Bytes that came and were not looked at yet, because the exchange is paused or a call from inside it brought them.
    private var held = ByteBuffer()
    private var isReading = false
    private var timer: Scheduled<Void>?

    private enum Sending {
        case done
        /// The body waits for the server's word.
        case expecting
        case body(isChunked: Bool)
        /// The answer came first; the rest of the body is not sent.
        case abandoned
    }

    init(key: ConnectionKey, configuration: HTTPConfiguration, report: TransferReport, trust: ServerTrust?) {
        self.key = key
        expectation = configuration.expectation
        base = report
        self.trust = trust
        reader = AnswerReader(limits: configuration.limits)
    }

    /// From now on the connection is the pool's.
    func join(_ pool: ConnectionPool) {
        self.pool = pool
        idleSince = pool.eventLoop.now.uptimeNanoseconds
    }

    private var isSent: Bool { if case .done = sending { true } else { false } }
}

// MARK: From the pool and the load

extension HTTP1Connection: PooledConnection, ExchangeCarrier {
    var room: Int { exchange == nil && idleSince != nil && !isClosing && !isClosed ? 1 : 0 }
    var isMultiplexed: Bool { false }

    var report: TransferReport {
        var report = base
        report.isReused = exchangeCount > 1
        report.bytesSent = sentBytes
        report.bytesReceived = receivedBytes
        return report
    }

    func makeCarrier(for exchange: any Exchange) -> any ExchangeCarrier {
        self.exchange = exchange
        idleSince = nil
        exchangeCount += 1
        (sentBytes, receivedBytes, discarded) = (0, 0, 0)
        isPaused = false
        isLast = exchange.outgoing.closes
        reader.begin(exchange.outgoing.method)
        return self
    }

    func start() {
        if let exchange { sendHead(exchange.outgoing) }
    }

    func resumeReading() {
        guard isPaused else { return }
        isPaused = false
        readHeld()
        if !isPaused, !isClosed { context?.read() }
    }

    func resumeReading(_ exchange: any Exchange) {
        if self.exchange === exchange { resumeReading() }
    }

    func cancel(_ exchange: any Exchange) {
        if self.exchange === exchange { cancel() }
    }

    func cancel() {
        guard exchange != nil else { return }
        exchange = nil
        stopTimer()
        if !isReading { discardRest() }
    }

    func close() {
        guard !isClosed else { return }
        isClosing = true
        context?.close(promise: nil)
    }

    /// Nobody wants the rest of the answer: reads it where it is short, so that the connection can be used again.
    private func discardRest() {
        let isShort = reader.remaining.map { $0 <= Int64(Self.discardLimit) } ?? !reader.isInHead
        guard isShort, isSent, !isLast, reader.allowsReuse, !reader.endsAtClose, !isClosed else { return close() }
        isPaused = false
        startTimer(Self.discardTime) { $0.close() }
        readHeld()
        // Idle by now or not: the read that the pause kept back is owed, and nobody else asks for one.
        if !isClosed { context?.read() }
    }

    private func startTimer(_ time: TimeAmount, _ action: @escaping (HTTP1Connection) -> Void) {
        guard let loop = context?.eventLoop else { return }
        timer?.cancel()
        timer = loop.assumeIsolated().scheduleTask(in: time) { [weak self] in
            if let self { action(self) }
        }
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }
}

// MARK: Sending

extension HTTP1Connection {
    private func sendHead(_ outgoing: OutgoingRequest) {
        guard let context else { return fail(LoadError(.connectionLost, message: "the connection to \(key) is closed")) }
        let head: RequestHeadWriter
        do throws(LoadError) {
            head = try outgoing.http1Head(namingWholeURL: key.usesAbsoluteForm)
        } catch {
            return fail(error)
        }
        var buffer = context.channel.allocator.buffer(capacity: head.byteCount)
        unsafe buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: head.byteCount) { target in
            var output = unsafe OutputRawSpan(buffer: target, initializedCount: 0)
            head.write(to: &output)
            return unsafe output.finalize(for: target)
        }
        sentBytes += Int64(buffer.readableBytes)
        context.write(NIOAny(buffer), promise: nil)
        if outgoing.framing.hasBody {
            guard outgoing.expectsContinue else {
                sending = .body(isChunked: outgoing.framing == .chunked)
                return pump()
            }
            sending = .expecting
            context.flush()
            startTimer(TimeAmount(expectation.wait)) { $0.goAhead() }
        } else {
            sending = .done
            context.flush()
            exchange?.requestIsSent()
        }
    }

    /// The body may be sent.
    private func goAhead() {
        guard case .expecting = sending, let exchange else { return }
        stopTimer()
        sending = .body(isChunked: exchange.outgoing.framing == .chunked)
        pump()
    }

    /// Sends as much of the body as there is and the socket takes.
    ///
    /// A few pieces at a time: a server that takes them as fast as they come must not keep the loop from the others, nor from its own answer.
    private func pump() {
        guard let current = exchange, let upload = current.upload, let context else { return }
        let loop = context.eventLoop
        let call = ConnectionCall(self)
        var pieces = 0
        while case .body(let isChunked) = sending, exchange === current, !isClosed, context.channel.isWritable {
            guard pieces < Self.piecesInTurn else { return loop.execute { call.run { $0.pump() } } }
            pieces += 1
            switch upload.next(context.channel.allocator, whenReady: { loop.execute { call.run { $0.pump() } } }) {
            case .bytes(let piece): send(piece, isChunked: isChunked, to: current, context)
            case .wait: return context.flush()
            case .failed(let error): return fail(error, fate: .seen)
            case .end:
                if isChunked {
                    context.write(NIOAny(context.channel.allocator.buffer(bytes: ChunkHeader.last)), promise: nil)
                    sentBytes += Int64(ChunkHeader.last.count)
                }
                sending = .done
                context.flush()
                current.requestIsSent()
            }
        }
    }

    private func send(_ piece: ByteBuffer, isChunked: Bool, to current: any Exchange, _ context: ChannelHandlerContext) {
        let count = piece.readableBytes
        sentBytes += Int64(count)
        if isChunked {
            var line = context.channel.allocator.buffer(capacity: ChunkHeader.longest)
            unsafe line.writeWithUnsafeMutableBytes(minimumWritableBytes: ChunkHeader.longest) { target in
                var output = unsafe OutputRawSpan(buffer: target, initializedCount: 0)
                ChunkHeader.write(count: count, to: &output)
                return unsafe output.finalize(for: target)
            }
            sentBytes += Int64(line.readableBytes + ChunkHeader.end.count)
            context.write(NIOAny(line), promise: nil)
            context.write(NIOAny(piece), promise: nil)
            context.writeAndFlush(NIOAny(context.channel.allocator.buffer(bytes: ChunkHeader.end)), promise: nil)
        } else {
            context.writeAndFlush(NIOAny(piece), promise: nil)
        }
        current.didSend(bodyBytes: count)
    }
}

// MARK: Reading

extension HTTP1Connection {
    private func readHeld() {
        let bytes = held
        held = ByteBuffer()
        read(bytes)
        if isClosed, !isPaused { answerEnds() }
    }

    /// Looks at bytes of the connection; what is not for now is held.
    private func read(_ buffer: ByteBuffer) {
        isReading = true
        var offset = 0
        unsafe buffer.withUnsafeReadableBytes { bytes in
            let span = unsafe RawSpan(_unsafeBytes: bytes)
            while !isPaused, deliverNext(of: span, from: &offset) {}
        }
        isReading = false
        let rest = buffer.readableBytes - offset
        if rest > 0 {
            if exchange == nil, idleSince != nil || !isPaused {
                // Nobody asked for it: it must not be taken for the next answer.
                held.clear()
                return close()
            }
            var first = buffer
            first.moveReaderIndex(forwardBy: offset)
            if held.readableBytes > 0 { first.writeBuffer(&held) }
            held = first
        }
        if exchange == nil, idleSince == nil, timer == nil, !isClosing { discardRest() }
    }

    /// - Returns: whether there is more to be had from the input.
    private func deliverNext(of span: borrowing RawSpan, from offset: inout Int) -> Bool {
        guard idleSince == nil else { return false }
        do throws(ResponseSyntaxError) {
            switch try reader.next(span, from: &offset) {
            case .needsMore: return false
            case .interim(let head): receiveInterim(head)
            case .head(let head, let length): receive(head, length)
            case .data(let range): receive(span.extracting(range))
            case .end(let trailers):
                end(trailers, isAtEndOfInput: offset == span.byteCount && held.readableBytes == 0)
                return false
            }
            return true
        } catch {
            fail(error.loadError)
            return false
        }
    }

    private func receiveInterim(_ head: ResponseHead) {
        if head.status == 100 { goAhead() }
        exchange?.didReceiveInterim(head)
    }

    private func receive(_ head: ResponseHead, _ length: Int64?) {
        if case .expecting = sending {
            stopTimer()
            sending = .abandoned
        }
        if case .body = sending, !reader.allowsReuse { sending = .abandoned }
        heed(exchange?.didReceive(head, bodyLength: length))
    }

    private func receive(_ bytes: borrowing RawSpan) {
        guard let exchange else {
            discarded += bytes.byteCount
            if discarded > Self.discardLimit { close() }
            return
        }
        heed(exchange.didLoad(bytes))
    }

    private func heed(_ flow: Flow?) {
        switch flow {
        case .keepGoing, nil: break
        case .pause: isPaused = exchange != nil
        case .stopped: exchange = nil
        }
    }

    private func end(_ trailers: HTTPFields?, isAtEndOfInput: Bool) {
        let done = exchange
        let report = report
        exchange = nil
        stopTimer()
        if isSent, !isLast, reader.allowsReuse, isAtEndOfInput, !isClosed {
            idleSince = context?.eventLoop.now.uptimeNanoseconds
            pool?.hasRoom(self, key)
        } else {
            close()
        }
        done?.didEnd(trailers: trailers, report: report)
    }

    /// - Parameter fate: what is known of the request, where the bytes that came do not tell.
    private func fail(_ error: LoadError, fate: RequestFate? = nil) {
        let failed = exchange
        let report = report
        exchange = nil
        stopTimer()
        close()
        failed?.didFail(error, fate: fate ?? (report.bytesReceived == 0 ? .unanswered : .seen), report: report)
    }
}

// MARK: From the channel

extension HTTP1Connection: ChannelInboundHandler, ChannelOutboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        connectionEnds()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = unwrapInboundIn(data)
        receivedBytes += Int64(buffer.readableBytes)
        if isReading || isPaused {
            held.writeBuffer(&buffer)
        } else {
            read(buffer)
        }
    }

    /// The channel asks for more whenever it can; a paused exchange has none of that.
    func read(context: ChannelHandlerContext) {
        if !isPaused { context.read() }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        pump()
        context.fireChannelWritabilityChanged()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        failure = failure ?? error
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        connectionEnds()
        context.fireChannelInactive()
    }

    private func connectionEnds() {
        guard !isClosed else { return }
        isClosed = true
        idleSince = nil
        stopTimer()
        pool?.didClose(self, key)
        if !isPaused { answerEnds() }
    }

    /// The connection is closed, and everything that came over it was looked at.
    private func answerEnds() {
        guard exchange != nil else { return }
        do throws(ResponseSyntaxError) {
            let isCutOff = reader.endsAtClose && failure != nil
            if try reader.endOfInput(), !isCutOff { return end(nil, isAtEndOfInput: false) }
            fail(.cutAtClose(key, failure))
        } catch {
            fail(error.rule == .noResponse || error.rule == .cutInHead && failure != nil ? .cutOff(key, failure) : error.loadError)
        }
    }
}

/// A call of a connection from any thread; it is not kept alive for it.
private final class ConnectionCall: @unchecked Sendable {  // … because the connection is touched on its event loop only
    private weak var connection: HTTP1Connection?

    init(_ connection: HTTP1Connection) { self.connection = connection }

    func run(_ body: (HTTP1Connection) -> Void) {
        if let connection { body(connection) }
    }
}
