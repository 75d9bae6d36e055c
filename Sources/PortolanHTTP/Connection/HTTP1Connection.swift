// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// An HTTP/1.1 connection. It carries one transaction after the other. Use it on its event loop only.
///
/// Bytes go from the receive buffer to the transaction without a copy. While the transaction is paused, the connection
/// reads nothing from the socket. Bytes that were already read are buffered.
///
/// RFC 9112
final class HTTP1Connection {
    /// The maximum number of bytes of a cancelled response that are read and dropped, so that the connection can be
    /// used again.
    private static let discardLimit = 64 << 10
    private static let discardTimeout = Duration.seconds(2)
    /// How many pieces of a body are sent before other work runs on the event loop.
    private static let piecesPerIteration = 4

    private let key: ConnectionKey
    private let expectContinue: ExpectContinuePolicy
    private weak var pool: ConnectionPool?
    private(set) var transport: (any ByteConnection)?
    /// The part of the report that is the same for each transaction.
    private let baseReport: TransferReport
    let trust: ServerTrust?

    // The current transaction.
    private var transaction: (any HTTPTransaction)?
    private var parser: ResponseParser
    private var sending = Sending.done
    /// Whether the request has `Connection: close`. For the response, see `parser.allowsReuse`.
    private var closesAfterResponse = false
    private var isPaused = false
    private var sentByteCount: Int64 = 0
    private var receivedByteCount: Int64 = 0
    private var discardedByteCount = 0

    // The connection.
    private var transactionCount = 0
    /// Whether the connection accepts no more transactions. The transport can end later.
    private var isClosing = false
    private var isClosed = false
    private var failure: SocketError?
    private(set) var idleSince: UInt64?
    /// Received bytes that are not parsed, because the transaction is paused, or because they arrived while other bytes
    /// were being parsed.
    private var bufferedBytes = ByteBuffer()
    private var isParsing = false
    private var timer: ScheduledTimer?

    /// How much of the request was sent.
    private enum Sending {
        case done
        /// The body waits for the server's `100 (Continue)`.
        case expecting
        case body(isChunked: Bool)
        /// The response came before the whole body was sent. The rest is not sent.
        case abandoned
    }

    init(key: ConnectionKey, configuration: HTTPConfiguration, report: TransferReport, trust: ServerTrust?) {
        self.key = key
        expectContinue = configuration.expectContinue
        baseReport = report
        self.trust = trust
        parser = ResponseParser(limits: configuration.messageLimits)
    }

    /// Sets the pool and the transport of a new connection.
    func attach(to pool: ConnectionPool, over transport: any ByteConnection) {
        self.pool = pool
        self.transport = transport
        idleSince = transport.loop.now
    }

    private var isRequestSent: Bool { if case .done = sending { true } else { false } }
}

// MARK: From the pool and the load

extension HTTP1Connection: PooledConnection, HTTPStream {
    var availableStreamCount: Int {
        guard transaction == nil, idleSince != nil, !isClosing, let transport else { return 0 }
        return transport.isWatched || transport.isAlive ? 1 : 0
    }

    var isAlive: Bool { transport?.isAlive == true }
    var isMultiplexed: Bool { false }

    var isReused: Bool { transactionCount > 1 }

    var report: TransferReport {
        var report = baseReport
        report.isReused = isReused
        report.bytesSent = sentByteCount
        report.bytesReceived = receivedByteCount
        return report
    }

    func beginTransaction(_ transaction: any HTTPTransaction) -> any HTTPStream {
        self.transaction = transaction
        idleSince = nil
        transactionCount += 1
        (sentByteCount, receivedByteCount, discardedByteCount) = (0, 0, 0)
        isPaused = false
        let preparedRequest = transaction.preparedRequest
        closesAfterResponse = preparedRequest.closesConnection
        parser.expectResponse(to: preparedRequest.method)
        return self
    }

    func resumeReading() {
        guard isPaused else { return }
        isPaused = false
        parseBufferedBytes()
        if !isPaused { transport?.resume() }
    }

    func resumeReading(_ transaction: any HTTPTransaction) {
        if self.transaction === transaction { resumeReading() }
    }

    func cancel(_ transaction: any HTTPTransaction) {
        if self.transaction === transaction { cancel() }
    }

    func cancel() {
        guard transaction != nil else { return }
        transaction = nil
        stopTimer()
        if !isParsing { discardRest() }
    }

    func close() {
        guard !isClosed else { return }
        isClosing = true
        transport?.close()
    }

    /// Reads the rest of a cancelled response if it is short, so that the connection can be used again. Otherwise
    /// closes the connection.
    private func discardRest() {
        let isShort = parser.remaining.map { $0 <= Int64(Self.discardLimit) } ?? !parser.isInHead
        guard isShort, isRequestSent, !closesAfterResponse, parser.allowsReuse, !parser.endsAtClose, !isClosed else { return close() }
        isPaused = false
        startTimer(Self.discardTimeout) { $0.close() }
        parseBufferedBytes()
        // The transport can still be paused, and nothing else resumes it.
        transport?.resume()
    }

    private func startTimer(_ time: Duration, _ action: @escaping @Sendable (HTTP1Connection) -> Void) {
        timer?.cancel()
        timer = transport?.loop.schedule(after: time) { [connection = LoopBound(self)] in action(connection.value) }
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }
}

// MARK: Sending

extension HTTP1Connection {
    /// Sends the head of the request, and then its body.
    func sendRequest() {
        guard let transaction else { return }
        guard let transport else { return fail(LoadError(.connectionLost, message: "the connection to \(key) is closed")) }
        let preparedRequest = transaction.preparedRequest
        let head: RequestHeadWriter
        do throws(LoadError) {
            head = try preparedRequest.http1Head(usesAbsoluteForm: key.usesAbsoluteForm)
        } catch {
            return fail(error, eligibility: .possiblyProcessed)  // another attempt would fail, too
        }
        let bytes = head.bytes()
        sentByteCount += Int64(bytes.count)
        if preparedRequest.framing.hasBody {
            guard preparedRequest.expectsContinue else {
                sending = .body(isChunked: preparedRequest.framing == .chunked)
                transport.write(bytes, hasMore: true)
                return sendBody()
            }
            sending = .expecting
            transport.write(bytes)
            startTimer(expectContinue.timeout) { $0.sendExpectedBody() }
        } else {
            sending = .done
            transport.write(bytes)
            transaction.requestIsSent()
        }
    }

    /// Ends the wait for `100 (Continue)`, and starts to send the body.
    private func sendExpectedBody() {
        guard case .expecting = sending, let transaction else { return }
        stopTimer()
        sending = .body(isChunked: transaction.preparedRequest.framing == .chunked)
        sendBody()
    }

    /// Sends the available bytes of the body until the socket is full.
    ///
    /// Lets other work run on the event loop after a few pieces. Otherwise a fast upload would block other loads, and
    /// the response.
    private func sendBody() {
        guard let current = transaction, let upload = current.upload, let transport else { return }
        let loop = transport.loop
        let bound = LoopBound(self)
        var pieces = 0
        // The end of the body is sent even if the socket is full. Otherwise the response could come first.
        while case .body(let isChunked) = sending, transaction === current, transport.isWritable || upload.isAllRead {
            guard pieces < Self.piecesPerIteration || upload.isAllRead else { return loop.execute { bound.value.sendBody() } }
            pieces += 1
            if !isChunked, upload.canSendFromFile, !upload.isAllRead {
                let count = upload.sendNext(over: transport)
                sentByteCount += Int64(count)
                if count > 0 { current.didSend(bodyBytes: count) }
                continue
            }
            switch upload.next(whenReady: { loop.execute { bound.value.sendBody() } }) {
            case .bytes(let count): sendPiece(count, of: upload, isChunked: isChunked, for: current, to: transport)
            // Flush the bytes that were written with `hasMore`.
            case .wait: return transport.write([])
            case .failed(let error): return fail(error, eligibility: .possiblyProcessed)
            case .end:
                if isChunked { sentByteCount += Int64(ChunkHeader.last.count) }
                sending = .done
                transport.write(isChunked ? ChunkHeader.last : [])
                current.requestIsSent()
            }
        }
    }

    private func sendPiece(
        _ count: Int, of upload: RequestBodySource, isChunked: Bool, for currentTransaction: any HTTPTransaction,
        to transport: any ByteConnection
    ) {
        sentByteCount += Int64(count)
        if isChunked {
            let line = [UInt8](capacity: ChunkHeader.maximumLength) { ChunkHeader.write(count: count, to: &$0) }
            sentByteCount += Int64(line.count + ChunkHeader.end.count)
            transport.write(line, hasMore: true)
            upload.withPiece(ofSize: count) { transport.write($0, hasMore: true) }
            transport.write(ChunkHeader.end)
        } else {
            upload.withPiece(ofSize: count) { transport.write($0, hasMore: false) }
        }
        currentTransaction.didSend(bodyBytes: count)
    }
}

// MARK: Reading

extension HTTP1Connection {
    private func parseBufferedBytes() {
        let bytes = bufferedBytes
        bufferedBytes = ByteBuffer()
        bytes.withBytes { parse($0) }
        if isClosed, !isPaused { endResponse() }
    }

    /// Parses received bytes, and delivers the events. Buffers the bytes that are left when the transaction pauses.
    private func parse(_ bytes: borrowing RawSpan) {
        isParsing = true
        var offset = 0
        while !isPaused, deliverNext(of: bytes, from: &offset) {}
        isParsing = false
        if offset < bytes.byteCount {
            if transaction == nil, idleSince != nil || !isPaused {
                // No request belongs to these bytes. They must not be parsed as the next response.
                bufferedBytes.removeAll()
                return close()
            }
            var unparsedBytes = ByteBuffer()
            unparsedBytes.append(bytes.extracting(offset...))
            bufferedBytes.withBytes { unparsedBytes.append($0) }
            bufferedBytes = unparsedBytes
        }
        if transaction == nil, idleSince == nil, timer == nil, !isClosing { discardRest() }
    }

    /// - Returns: whether the input can contain another event.
    private func deliverNext(of span: borrowing RawSpan, from offset: inout Int) -> Bool {
        guard idleSince == nil else { return false }
        do throws(ResponseSyntaxError) {
            switch try parser.next(span, from: &offset) {
            case .needsMore: return false
            case .interim(let head): deliverInterim(head)
            case .head(let head, let length): deliverHead(head, bodyLength: length)
            case .data(let range): deliverData(span.extracting(range))
            case .end(let trailers):
                finishResponse(trailers, isAtEndOfInput: offset == span.byteCount && bufferedBytes.isEmpty)
                return false
            }
            return true
        } catch {
            fail(loadError(for: error))
            return false
        }
    }

    private func loadError(for error: ResponseSyntaxError) -> LoadError {
        guard error.rule == .tlsResponse else { return error.loadError }
        if let proxy = key.proxy, key.usesAbsoluteForm { return .respondsWithTLS(proxy) }
        // The bytes inside the TLS session are TLS again. Another scheme would not help.
        return key.isSecure ? ResponseSyntaxError(.notHTTP, excerpt: error.excerpt).loadError : error.loadError
    }

    private func deliverInterim(_ head: ResponseHead) {
        transaction?.didReceiveInterim(head)
        if head.status == 100 { sendExpectedBody() }
    }

    private func deliverHead(_ head: ResponseHead, bodyLength length: Int64?) {
        if case .expecting = sending {
            stopTimer()
            sending = .abandoned
        }
        if case .body = sending, !parser.allowsReuse { sending = .abandoned }
        apply(transaction?.didReceive(head, bodyLength: length))
    }

    private func deliverData(_ bytes: borrowing RawSpan) {
        guard let transaction else {
            discardedByteCount += bytes.byteCount
            if discardedByteCount > Self.discardLimit { close() }
            return
        }
        apply(transaction.didLoad(bytes))
    }

    private func apply(_ flow: Flow?) {
        switch flow {
        case .keepGoing, nil: break
        case .pause where transaction != nil:
            isPaused = true
            transport?.pause()
        case .pause: break
        case .stopped: transaction = nil
        }
    }

    private func finishResponse(_ trailers: HTTPFields?, isAtEndOfInput: Bool) {
        let finishedTransaction = transaction
        let report = report
        transaction = nil
        stopTimer()
        // Without a pool, nothing would use or close the connection.
        if isRequestSent, !closesAfterResponse, parser.allowsReuse, isAtEndOfInput, !isClosed, let pool {
            idleSince = transport?.loop.now
            pool.connectionBecameAvailable(self, for: key)
        } else {
            close()
        }
        finishedTransaction?.didEnd(trailers: trailers, report: report)
    }

    /// - Parameter eligibility: whether the request can be sent again; `nil` if this depends on whether bytes were
    ///   received.
    private func fail(_ error: LoadError, eligibility: RetryEligibility? = nil) {
        let failedTransaction = transaction
        let report = report
        transaction = nil
        stopTimer()
        close()
        let derived: RetryEligibility = report.bytesReceived == 0 ? .noResponse : .possiblyProcessed
        failedTransaction?.didFail(error, eligibility: eligibility ?? derived, report: report)
    }
}

// MARK: From the transport

extension HTTP1Connection: ByteConnectionReceiver {
    func didReceive(_ bytes: borrowing RawSpan) {
        receivedByteCount += Int64(bytes.byteCount)
        if isParsing || isPaused { bufferedBytes.append(bytes) } else { parse(bytes) }
    }

    var isIdle: Bool { idleSince != nil }

    func transportIsWritable() { sendBody() }

    func transportDidEnd(_ failure: SocketError?) {
        self.failure = failure
        handleConnectionEnd()
        transport = nil
    }

    private func handleConnectionEnd() {
        guard !isClosed else { return }
        isClosed = true
        idleSince = nil
        stopTimer()
        pool?.didClose(self, key)
        if !isPaused { endResponse() }
    }

    /// Ends the response after the connection has ended and all bytes were parsed.
    private func endResponse() {
        guard transaction != nil else { return }
        do throws(ResponseSyntaxError) {
            let isCutOff = parser.endsAtClose && failure != nil
            if try parser.endOfInput(), !isCutOff { return finishResponse(nil, isAtEndOfInput: false) }
            fail(.bodyMayBeTruncated(key, failure))
        } catch {
            switch error.rule {
            case .noResponse where !isReused && receivedByteCount == 0 && !key.isSecuredByTLS:
                fail(.noResponseWithoutTLS(key, failure, error))
            case .noResponse where failure != nil, .cutInHead where failure != nil: fail(.connectionLost(key, failure))
            case .cutInBody where failure?.isSystem == true: fail(.connectionLost(key, failure))
            default: fail(error.loadError)
            }
        }
    }
}
