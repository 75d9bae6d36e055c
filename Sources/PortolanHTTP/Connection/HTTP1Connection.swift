// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// An HTTP/1.1 connection. It carries one exchange after the other. On the event loop only.
///
/// Bytes go from the receive buffer to the exchange without a copy. While the exchange is paused, nothing is read from
/// the socket, and bytes that were already read are buffered.
///
/// RFC 9112
final class HTTP1Connection {
    /// How many bytes of a cancelled response are read, so that the connection can be used again.
    private static let discardLimit = 64 << 10
    private static let discardTime = Duration.seconds(2)
    /// How many pieces of a body are sent before other work on the event loop runs.
    private static let piecesInIteration = 4

    private let key: ConnectionKey
    private let expectContinue: ExpectContinuePolicy
    private weak var pool: ConnectionPool?
    private(set) var transport: (any ByteConnection)?
    /// The part of the report that is the same for each exchange.
    private let base: TransferReport
    let trust: ServerTrust?

    // The exchange.
    private var transaction: (any HTTPTransaction)?
    private var reader: ResponseParser
    private var sending = Sending.done
    /// Whether the request says that it is the last one on the connection. `reader` knows what the response says about
    /// this.
    private var isLast = false
    private var isPaused = false
    private var sentBytes: Int64 = 0
    private var receivedBytes: Int64 = 0
    private var discarded = 0

    // The connection.
    private var exchangeCount = 0
    /// Whether no more exchanges may begin. Over TLS the transport ends some time later.
    private var isClosing = false
    private var isClosed = false
    private var failure: SocketError?
    private(set) var idleSince: UInt64?
    /// Received bytes that were not processed yet, because the exchange is paused or because they arrived while other
    /// bytes were being processed.
    private var held = ByteBuffer()
    private var isReading = false
    private var timer: ScheduledTimer?

    private enum Sending {
        case done
        /// The body waits for the server's `100 (Continue)`.
        case expecting
        case body(isChunked: Bool)
        /// The response came first. The rest of the body is not sent.
        case abandoned
    }

    init(key: ConnectionKey, configuration: HTTPConfiguration, report: TransferReport, trust: ServerTrust?) {
        self.key = key
        expectContinue = configuration.expectContinue
        base = report
        self.trust = trust
        reader = ResponseParser(limits: configuration.messageLimits)
    }

    /// The connection belongs to the pool from now on, and `transport` belongs to the connection.
    func join(_ pool: ConnectionPool, over transport: any ByteConnection) {
        self.pool = pool
        self.transport = transport
        idleSince = transport.loop.now
    }

    private var isSent: Bool { if case .done = sending { true } else { false } }
}

// MARK: From the pool and the load

extension HTTP1Connection: PooledConnection, HTTPStream {
    var room: Int {
        guard transaction == nil, idleSince != nil, !isClosing, let transport else { return 0 }
        return transport.isWatched || transport.isAlive ? 1 : 0
    }

    var isAlive: Bool { transport?.isAlive == true }
    var isMultiplexed: Bool { false }

    var isReused: Bool { exchangeCount > 1 }

    var report: TransferReport {
        var report = base
        report.isReused = isReused
        report.bytesSent = sentBytes
        report.bytesReceived = receivedBytes
        return report
    }

    func makeStream(for transaction: any HTTPTransaction) -> any HTTPStream {
        self.transaction = transaction
        idleSince = nil
        exchangeCount += 1
        (sentBytes, receivedBytes, discarded) = (0, 0, 0)
        isPaused = false
        let preparedRequest = transaction.preparedRequest
        isLast = preparedRequest.closes
        reader.begin(preparedRequest.method)
        return self
    }

    func resumeReading() {
        guard isPaused else { return }
        isPaused = false
        readHeld()
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
        if !isReading { discardRest() }
    }

    func close() {
        guard !isClosed else { return }
        isClosing = true
        transport?.close()
    }

    /// Reads the rest of a cancelled response if it is short, so that the connection can be used again. Otherwise
    /// closes the connection.
    private func discardRest() {
        let isShort = reader.remaining.map { $0 <= Int64(Self.discardLimit) } ?? !reader.isInHead
        guard isShort, isSent, !isLast, reader.allowsReuse, !reader.endsAtClose, !isClosed else { return close() }
        isPaused = false
        startTimer(Self.discardTime) { $0.close() }
        readHeld()
        // The pause may have held back bytes, and nothing else resumes the transport, even if the connection is idle by
        // now.
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
    func start() {
        guard let transaction else { return }
        guard let transport else { return fail(LoadError(.connectionLost, message: "the connection to \(key) is closed")) }
        let preparedRequest = transaction.preparedRequest
        let head: RequestHeadWriter
        do throws(LoadError) {
            head = try preparedRequest.http1Head(namingWholeURL: key.usesAbsoluteForm)
        } catch {
            return fail(error, eligibility: .seen)  // another try would fail, too
        }
        let bytes = head.bytes()
        sentBytes += Int64(bytes.count)
        if preparedRequest.framing.hasBody {
            guard preparedRequest.expectsContinue else {
                sending = .body(isChunked: preparedRequest.framing == .chunked)
                transport.write(bytes, hasMore: true)
                return pump()
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

    /// Starts to send the body after the wait for `100 (Continue)`.
    private func sendExpectedBody() {
        guard case .expecting = sending, let transaction else { return }
        stopTimer()
        sending = .body(isChunked: transaction.preparedRequest.framing == .chunked)
        pump()
    }

    /// Sends as much of the body as there is and the socket accepts.
    ///
    /// Sends only a few pieces at a time. A server that accepts them as fast as they come must not block other work on
    /// the event loop, or its own response.
    private func pump() {
        guard let current = transaction, let upload = current.upload, let transport else { return }
        let loop = transport.loop
        let bound = LoopBound(self)
        var pieces = 0
        // The end of the body needs no room and no time. If it were delayed, it could come after the response.
        while case .body(let isChunked) = sending, transaction === current, transport.isWritable || upload.isAllRead {
            guard pieces < Self.piecesInIteration || upload.isAllRead else { return loop.execute { bound.value.pump() } }
            pieces += 1
            if !isChunked, upload.isFile, !upload.isAllRead {
                let count = upload.sendNext(over: transport)
                sentBytes += Int64(count)
                if count > 0 { current.didSend(bodyBytes: count) }
                continue
            }
            switch upload.next(whenReady: { loop.execute { bound.value.pump() } }) {
            case .bytes(let count): send(count, of: upload, isChunked: isChunked, to: current, transport)
            // Flush the bytes that were written with `hasMore`.
            case .wait: return transport.write([])
            case .failed(let error): return fail(error, eligibility: .seen)
            case .end:
                if isChunked { sentBytes += Int64(ChunkHeader.last.count) }
                sending = .done
                transport.write(isChunked ? ChunkHeader.last : [])
                current.requestIsSent()
            }
        }
    }

    private func send(
        _ count: Int, of upload: RequestBodyWriter, isChunked: Bool, to current: any HTTPTransaction, _ transport: any ByteConnection
    ) {
        sentBytes += Int64(count)
        if isChunked {
            let line = [UInt8](capacity: ChunkHeader.longest) { ChunkHeader.write(count: count, to: &$0) }
            sentBytes += Int64(line.count + ChunkHeader.end.count)
            transport.write(line, hasMore: true)
            upload.withPiece(count) { transport.write($0, hasMore: true) }
            transport.write(ChunkHeader.end)
        } else {
            upload.withPiece(count) { transport.write($0, hasMore: false) }
        }
        current.didSend(bodyBytes: count)
    }
}

// MARK: Reading

extension HTTP1Connection {
    private func readHeld() {
        let bytes = held
        held = ByteBuffer()
        bytes.withBytes { read($0) }
        if isClosed, !isPaused { endResponse() }
    }

    /// Processes bytes of the connection. Bytes that can't be processed now are buffered.
    private func read(_ bytes: borrowing RawSpan) {
        isReading = true
        var offset = 0
        while !isPaused, deliverNext(of: bytes, from: &offset) {}
        isReading = false
        if offset < bytes.byteCount {
            if transaction == nil, idleSince != nil || !isPaused {
                // The bytes belong to no request. They must not be read as the next response.
                held.removeAll()
                return close()
            }
            var first = ByteBuffer()
            first.append(bytes.extracting(offset...))
            held.withBytes { first.append($0) }
            held = first
        }
        if transaction == nil, idleSince == nil, timer == nil, !isClosing { discardRest() }
    }

    /// - Returns: whether the input may have another event.
    private func deliverNext(of span: borrowing RawSpan, from offset: inout Int) -> Bool {
        guard idleSince == nil else { return false }
        do throws(ResponseSyntaxError) {
            switch try reader.next(span, from: &offset) {
            case .needsMore: return false
            case .interim(let head): receiveInterim(head)
            case .head(let head, let length): receive(head, length)
            case .data(let range): receive(span.extracting(range))
            case .end(let trailers):
                end(trailers, isAtEndOfInput: offset == span.byteCount && held.isEmpty)
                return false
            }
            return true
        } catch {
            fail(loadError(error))
            return false
        }
    }

    private func loadError(_ error: ResponseSyntaxError) -> LoadError {
        guard error.rule == .tlsResponse else { return error.loadError }
        if let proxy = key.proxy, key.usesAbsoluteForm { return .respondsWithTLS(proxy) }
        // The decrypted bytes are TLS of another server, so another scheme would not help.
        return key.isSecure ? ResponseSyntaxError(.notHTTP, excerpt: error.excerpt).loadError : error.loadError
    }

    private func receiveInterim(_ head: ResponseHead) {
        transaction?.didReceiveInterim(head)
        if head.status == 100 { sendExpectedBody() }
    }

    private func receive(_ head: ResponseHead, _ length: Int64?) {
        if case .expecting = sending {
            stopTimer()
            sending = .abandoned
        }
        if case .body = sending, !reader.allowsReuse { sending = .abandoned }
        handle(transaction?.didReceive(head, bodyLength: length))
    }

    private func receive(_ bytes: borrowing RawSpan) {
        guard let transaction else {
            discarded += bytes.byteCount
            if discarded > Self.discardLimit { close() }
            return
        }
        handle(transaction.didLoad(bytes))
    }

    private func handle(_ flow: Flow?) {
        switch flow {
        case .keepGoing, nil: break
        case .pause where transaction != nil:
            isPaused = true
            transport?.pause()
        case .pause: break
        case .stopped: transaction = nil
        }
    }

    private func end(_ trailers: HTTPFields?, isAtEndOfInput: Bool) {
        let done = transaction
        let report = report
        transaction = nil
        stopTimer()
        // Without a pool the connection would never be used again, or closed.
        if isSent, !isLast, reader.allowsReuse, isAtEndOfInput, !isClosed, let pool {
            idleSince = transport?.loop.now
            pool.hasRoom(self, key)
        } else {
            close()
        }
        done?.didEnd(trailers: trailers, report: report)
    }

    /// - Parameter eligibility: what is known of the request, if the received bytes do not decide it.
    private func fail(_ error: LoadError, eligibility: RetryEligibility? = nil) {
        let failed = transaction
        let report = report
        transaction = nil
        stopTimer()
        close()
        failed?.didFail(error, eligibility: eligibility ?? (report.bytesReceived == 0 ? .noResponse : .seen), report: report)
    }
}

// MARK: From the transport

extension HTTP1Connection: ByteConnectionReceiver {
    func didReceive(_ bytes: borrowing RawSpan) {
        receivedBytes += Int64(bytes.byteCount)
        if isReading || isPaused { held.append(bytes) } else { read(bytes) }
    }

    var isIdle: Bool { idleSince != nil }

    func transportIsWritable() { pump() }

    func transportDidEnd(_ failure: SocketError?) {
        self.failure = failure
        connectionEnds()
        transport = nil
    }

    private func connectionEnds() {
        guard !isClosed else { return }
        isClosed = true
        idleSince = nil
        stopTimer()
        pool?.didClose(self, key)
        if !isPaused { endResponse() }
    }

    /// Ends the response, after the connection was closed and all its bytes were processed.
    private func endResponse() {
        guard transaction != nil else { return }
        do throws(ResponseSyntaxError) {
            let isCutOff = reader.endsAtClose && failure != nil
            if try reader.endOfInput(), !isCutOff { return end(nil, isAtEndOfInput: false) }
            fail(.cutAtClose(key, failure))
        } catch {
            switch error.rule {
            case .noResponse where !isReused && receivedBytes == 0 && !key.isSecuredByTLS: fail(.endedInClear(key, failure, error))
            case .noResponse where failure != nil, .cutInHead where failure != nil: fail(.cutOff(key, failure))
            case .cutInBody where failure?.isSystem == true: fail(.cutOff(key, failure))
            default: fail(error.loadError)
            }
        }
    }
}
