// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// One transaction on an HTTP/2 connection. Use it on its event loop only.
///
/// While the transaction is paused, the stream sends no WINDOW_UPDATE, so the server stops sending. Content within the
/// current window is buffered.
///
/// RFC 9113 §5, §8.1
final class HTTP2Stream {
    private enum State {
        /// The connection counts the stream, but has not opened it.
        case reserved
        case open(Int32)
        /// The connection has released the stream. The stream can still buffer content.
        case released
    }

    private enum PendingEnd {
        case complete(trailers: HTTPFields?)
        case failed(LoadError, RetryEligibility)
    }

    let connection: HTTP2Connection
    private(set) var transaction: (any HTTPTransaction)?
    private var state = State.reserved
    let isReused: Bool

    private var parser: HTTP2ResponseParser
    private(set) var window = HTTP2ReceiveWindow(HTTP2ReceiveWindow.streamStart)
    private var isPaused = false
    /// A copy of content that arrived while the transaction was paused. The copy is needed, because all streams share
    /// the receive buffer.
    private var bufferedContent = ByteBuffer()
    /// How the transaction will end when the buffered content was delivered; `nil` if it has not ended.
    private var pendingEnd: PendingEnd?

    var sending = Sending.done
    /// Whether the body's reader has no bytes, and will call back.
    var isWaitingForBody = false
    /// The error of the body's reader.
    var bodyFailure: LoadError?
    /// Whether nghttp2 has ended the stream, and the connection will report the reason after the current call of
    /// nghttp2.
    var isReportPending = false
    var sentByteCount: Int64 = 0
    var timer: ScheduledTimer?

    /// How much of the request was sent.
    enum Sending {
        case done
        /// The body waits for the server's `100 (Continue)`.
        case expecting
        case body
        /// The response came before the whole body was sent. The rest is not sent.
        case abandoned
    }

    init(_ transaction: any HTTPTransaction, on connection: HTTP2Connection, isReused: Bool) {
        self.transaction = transaction
        self.connection = connection
        self.isReused = isReused
        parser = HTTP2ResponseParser(transaction.preparedRequest.method, limits: connection.limits)
    }

    /// The stream's number while it is open.
    var number: Int32? { if case .open(let number) = state { number } else { nil } }
}

// MARK: From the load

extension HTTP2Stream: HTTPStream {
    var transport: (any ByteConnection)? { connection.transport }

    var report: TransferReport {
        var report = connection.baseReport
        report.isReused = isReused
        report.bytesSent = sentByteCount
        report.bytesReceived = parser.byteCount
        return report
    }

    func sendRequest() {
        guard let transaction else { return }
        let head: HTTP2RequestHead
        do throws(LoadError) {
            head = try HTTP2RequestHead(transaction.preparedRequest)
        } catch {
            releaseFromConnection()
            return fail(error, eligibility: .possiblyProcessed)
        }
        send(head)
    }

    func resumeReading() {
        guard isPaused else { return }
        isPaused = false
        if !bufferedContent.isEmpty {
            let bytes = bufferedContent
            bufferedContent.removeAll()
            bytes.withBytes { deliver($0) }
        }
        guard !isPaused else { return }
        switch pendingEnd {
        case .complete(let trailers)?: complete(trailers)
        case .failed(let error, let eligibility)?: fail(error, eligibility: eligibility)
        case nil: extendReceiveWindow()
        }
    }

    func cancel() {
        guard transaction != nil else { return }
        detachTransaction()
        reset(.cancel)
    }

    /// Detaches the transaction, which then receives no more calls.
    private func detachTransaction() {
        transaction = nil
        isPaused = false
        bufferedContent.removeAll()
        pendingEnd = nil
        stopTimer()
    }

    func stopTimer() {
        timer?.cancel()
        timer = nil
    }
}

// MARK: The end of the stream

extension HTTP2Stream {
    /// Resets the stream if it is open.
    func reset(_ code: HTTP2ErrorCode) { releaseFromConnection(resetting: code) }

    private func releaseFromConnection(resetting code: HTTP2ErrorCode? = nil) {
        if case .released = state { return }
        let number = number
        state = .released
        connection.release(number, growth: window.growth, resetting: code)
    }

    /// Records that the connection has released the stream.
    func wasReleased() { state = .released }

    func didOpen(_ number: Int32) { state = .open(number) }

    /// Fails the transaction, because the stream was not opened.
    func failNotOpened() {
        releaseFromConnection()
        fail(.notProcessed(by: connection.key, .noError), eligibility: .notProcessed(afterOthers: connection.hasResponded))
    }

    /// Fails the transaction, because nghttp2 dropped the request. No byte of it was sent.
    func failNotSent(_ error: HTTP2LibraryError) {
        releaseFromConnection()
        fail(
            .notSent(to: connection.key, error),
            eligibility: error == .notStarted ? .notProcessed(afterOthers: connection.hasResponded) : .possiblyProcessed)
    }

    /// Fails the transaction, because the body can't be read. nghttp2 has reset the stream.
    func failBody() {
        guard let bodyFailure else { return }
        releaseFromConnection()
        fail(bodyFailure, eligibility: .possiblyProcessed)
    }

    /// Ends the stream, because the server has ended it.
    private func handleServerEnd() {
        stopTimer()
        switch sending {
        case .done: releaseFromConnection()
        // The response does not depend on the rest of the request (RFC 9113 §8.1).
        case .expecting, .body, .abandoned:
            sending = .abandoned
            reset(.noError)
        }
    }

    private func complete(_ trailers: HTTPFields?) {
        connection.hasResponded = true
        guard !isPaused else {
            pendingEnd = .complete(trailers: trailers)
            return
        }
        let report = report
        let finishedTransaction = transaction
        detachTransaction()
        finishedTransaction?.didEnd(trailers: trailers.flatMap { $0.isEmpty ? nil : $0 }, report: report)
    }

    /// - Parameter eligibility: whether the request can be sent again; `nil` if the server has not reported that. After
    ///   a response has begun, it is always ``RetryEligibility/possiblyProcessed``.
    func fail(_ error: LoadError, eligibility: RetryEligibility? = nil) {
        let eligibility = parser.hasResponseBegun ? .possiblyProcessed : eligibility ?? .noResponse
        guard !isPaused else {
            pendingEnd = .failed(error, eligibility)
            return
        }
        let report = report
        let failedTransaction = transaction
        detachTransaction()
        failedTransaction?.didFail(error, eligibility: eligibility, report: report)
    }
}

// MARK: Reading

extension HTTP2Stream {
    /// Whether the first frame of the response has arrived.
    var hasResponseBegun: Bool { parser.hasResponseBegun }

    /// Whether the final head has not arrived.
    var isInHead: Bool { parser.isInHead }

    func responseDidBegin() { parser.responseDidBegin() }

    func makeSection() -> HTTP2FieldSection { parser.makeSection() }

    func receiveFields(_ section: HTTP2FieldSection, endsStream: Bool) {
        do throws(HTTP2ResponseError) {
            switch try parser.process(section, endsStream: endsStream) {
            case .interim(let head):
                transaction?.didReceiveInterim(head)
                if head.status == 100 { sendExpectedBody() }
            case .head(let head, let length):
                if case .expecting = sending {
                    stopTimer()
                    sending = .abandoned
                }
                if endsStream { handleServerEnd() }
                apply(transaction?.didReceive(head, bodyLength: length))
                if endsStream { complete(nil) }
            case .trailers(let fields):
                handleServerEnd()
                complete(fields)
            }
        } catch {
            failMalformed(error, endsStream)
        }
    }

    /// Receives a part of a DATA frame.
    ///
    /// - Parameter endsStream: whether the stream ends with the frame.
    func receiveData(_ bytes: borrowing RawSpan, endsStream: Bool) {
        do throws(HTTP2ResponseError) {
            try parser.processData(bytes.byteCount, endsStream: false)
        } catch {
            return failMalformed(error, endsStream)
        }
        if isPaused { bufferedContent.append(bytes) } else { deliver(bytes) }
    }

    func receiveEndOfFrame(endsStream: Bool) {
        guard endsStream else {
            if !isPaused { extendReceiveWindow() }
            return
        }
        do throws(HTTP2ResponseError) {
            try parser.processData(0, endsStream: true)
        } catch {
            return failMalformed(error, true)
        }
        handleServerEnd()
        complete(nil)
    }

    private func deliver(_ bytes: borrowing RawSpan) {
        if let transaction { apply(transaction.didLoad(bytes)) }
    }

    private func apply(_ flow: Flow?) {
        switch flow {
        case .keepGoing, nil: break
        case .pause: isPaused = transaction != nil
        case .stopped:
            detachTransaction()
            reset(.cancel)
        }
    }

    private func failMalformed(_ error: HTTP2ResponseError, _ endsStream: Bool) {
        // After both sides have ended the stream, the client must not send a frame on it (RFC 9113 §5.1).
        if endsStream, case .done = sending { releaseFromConnection() } else { reset(.protocolError) }
        fail(error.loadError, eligibility: .possiblyProcessed)
    }

    /// Fails the stream, because content arrived before the head of the response.
    func failPrematureContent() {
        responseDidBegin()
        failMalformed(HTTP2ResponseError(.contentBeforeHead), false)
    }

    /// Ends the stream, because the server broke a rule of HTTP/2.
    ///
    /// - Parameter resets: whether the stream must still be reset.
    func failViolation(_ violation: HTTP2ProtocolRule, _ code: HTTP2ErrorCode, resets: Bool) {
        releaseFromConnection(resetting: resets ? code : nil)
        fail(.http2(violation, code, from: connection.key), eligibility: .possiblyProcessed)
    }

    /// Handles a reset by the server.
    func receiveReset(_ code: HTTP2ErrorCode) {
        releaseFromConnection()
        stopTimer()
        switch code {
        case .refusedStream: fail(.reset(by: connection.key, code), eligibility: .refused)
        case .http11Required: fail(.reset(by: connection.key, code), eligibility: .needsHTTP1)
        default: fail(.reset(by: connection.key, code), eligibility: .possiblyProcessed)
        }
    }

    /// Allows the server to send more after the transaction has accepted content.
    private func extendReceiveWindow() {
        guard let number, let session = connection.session else { return }
        let (knownWindow, extraWindow) = (session.receiveWindow(of: number), connection.receiving.unacknowledgedWindow)
        window.update(remaining: knownWindow + extraWindow)
        var increment = window.increment(growingWithin: &connection.remainingWindowGrowth)
        // A server that has not acknowledged the client's settings can use the smaller window (RFC 9113 §6.5.3).
        if increment == nil, extraWindow > 0, knownWindow <= HTTP2Connection.Receiving.protocolWindow / 2 {
            increment = HTTP2Connection.Receiving.protocolWindow - knownWindow
        }
        guard let increment else { return }
        session.widenReceiveWindow(of: number, by: increment)
        connection.scheduleFlush()
    }
}
