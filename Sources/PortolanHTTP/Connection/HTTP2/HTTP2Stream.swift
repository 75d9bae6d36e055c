// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

/// One exchange on an HTTP/2 connection. On the event loop only.
///
/// While the exchange is paused, the stream gives no window back, so that the server stops sending. Content that was
/// allowed before is buffered.
///
/// RFC 9113 §5, §8.1
final class HTTP2Stream {
    private enum State {
        /// Counted by the connection, but not opened.
        case reserved
        case open(Int32)
        /// The connection has released the stream. Received content may still be buffered.
        case left
    }

    private enum Ending {
        case complete(trailers: HTTPFields?)
        case failed(LoadError, RetryEligibility)
    }

    let connection: HTTP2Connection
    private(set) var transaction: (any HTTPTransaction)?
    private var state = State.reserved
    let isReused: Bool

    private var reader: HTTP2ResponseParser
    private(set) var window = HTTP2ReceiveWindow(HTTP2ReceiveWindow.streamStart)
    private var isPaused = false
    /// A copy of content that arrived while the exchange was paused. The receive buffer itself is shared by all
    /// streams.
    private var held = ByteBuffer()
    /// How the exchange ends after the buffered content was delivered.
    private var ending: Ending?

    var sending = Sending.done
    /// Whether the body's reader has no bytes now and will call back.
    var awaitsBody = false
    /// The error that stopped the reading of the body.
    var bodyFailure: LoadError?
    /// Whether nghttp2 has ended the stream. The connection reports the reason when nghttp2 may be called again.
    var awaitsReport = false
    var sentBytes: Int64 = 0
    var timer: ScheduledTimer?

    enum Sending {
        case done
        /// The body waits for the server's `100 (Continue)`.
        case expecting
        case body
        /// The response came first. The rest of the body is not sent.
        case abandoned
    }

    init(_ transaction: any HTTPTransaction, on connection: HTTP2Connection, isReused: Bool) {
        self.transaction = transaction
        self.connection = connection
        self.isReused = isReused
        reader = HTTP2ResponseParser(transaction.preparedRequest.method, limits: connection.limits)
    }

    /// The stream's number while it is open.
    var number: Int32? { if case .open(let number) = state { number } else { nil } }
}

// MARK: From the load

extension HTTP2Stream: HTTPStream {
    var transport: (any ByteConnection)? { connection.transport }

    var report: TransferReport {
        var report = connection.base
        report.isReused = isReused
        report.bytesSent = sentBytes
        report.bytesReceived = reader.byteCount
        return report
    }

    func start() {
        guard let transaction else { return }
        let head: HTTP2RequestHead
        do throws(LoadError) {
            head = try HTTP2RequestHead(transaction.preparedRequest)
        } catch {
            leave()
            return fail(error, eligibility: .seen)
        }
        send(head)
    }

    func resumeReading() {
        guard isPaused else { return }
        isPaused = false
        if !held.isEmpty {
            let bytes = held
            held.removeAll()
            bytes.withBytes { deliver($0) }
        }
        guard !isPaused else { return }
        switch ending {
        case .complete(let trailers)?: complete(trailers)
        case .failed(let error, let eligibility)?: fail(error, eligibility: eligibility)
        case nil: giveWindowBack()
        }
    }

    func cancel() {
        guard transaction != nil else { return }
        drop()
        reset(.cancel)
    }

    /// Drops the exchange, which receives no more calls.
    private func drop() {
        transaction = nil
        isPaused = false
        held.removeAll()
        ending = nil
        stopTimer()
    }

    func stopTimer() {
        timer?.cancel()
        timer = nil
    }
}

// MARK: Its end

extension HTTP2Stream {
    /// Resets the stream if it is open.
    func reset(_ code: HTTP2ErrorCode) { leave(resetting: code) }

    private func leave(resetting code: HTTP2ErrorCode? = nil) {
        if case .left = state { return }
        let number = number
        state = .left
        connection.release(number, growth: window.growth, resetting: code)
    }

    /// The connection has released the stream by itself.
    func didLeaveConnection() { state = .left }

    func didOpen(_ number: Int32) { state = .open(number) }

    /// Fails the exchange, because the stream was not opened.
    func failNotOpened() {
        leave()
        fail(.notProcessed(by: connection.key, .noError), eligibility: .notProcessed(afterOthers: connection.hasResponded))
    }

    /// Fails the exchange, because nghttp2 dropped the request. No byte of it was sent.
    func failNotSent(_ error: HTTP2LibraryError) {
        leave()
        fail(
            .notSent(to: connection.key, error),
            eligibility: error == .notStarted ? .notProcessed(afterOthers: connection.hasResponded) : .seen)
    }

    /// Fails the exchange, because the body can't be read to its end. nghttp2 has reset the stream.
    func failBody() {
        guard let bodyFailure else { return }
        leave()
        fail(bodyFailure, eligibility: .seen)
    }

    /// The server's side has ended, and with it the stream.
    private func serverEnds() {
        stopTimer()
        switch sending {
        case .done: leave()
        // The response does not depend on the rest of the request (RFC 9113 §8.1).
        case .expecting, .body, .abandoned:
            sending = .abandoned
            reset(.noError)
        }
    }

    private func complete(_ trailers: HTTPFields?) {
        connection.hasResponded = true
        guard !isPaused else {
            ending = .complete(trailers: trailers)
            return
        }
        let report = report
        let done = transaction
        drop()
        done?.didEnd(trailers: trailers.flatMap { $0.isEmpty ? nil : $0 }, report: report)
    }

    /// - Parameter eligibility: what the server says became of the request; `nil` if it says nothing. Once a response
    ///   has begun, the request was seen, whatever the server says later.
    func fail(_ error: LoadError, eligibility: RetryEligibility? = nil) {
        let eligibility = reader.hasBegun ? .seen : eligibility ?? .noResponse
        guard !isPaused else {
            ending = .failed(error, eligibility)
            return
        }
        let report = report
        let failed = transaction
        drop()
        failed?.didFail(error, eligibility: eligibility, report: report)
    }
}

// MARK: Reading

extension HTTP2Stream {
    /// Whether the first byte of a response has arrived.
    var hasBegun: Bool { reader.hasBegun }

    /// Whether the final head has yet to arrive.
    var isInHead: Bool { reader.isInHead }

    func begin() { reader.begin() }

    func makeSection() -> HTTP2FieldSection { reader.makeSection() }

    func receive(_ section: HTTP2FieldSection, endsStream: Bool) {
        do throws(HTTP2ResponseError) {
            switch try reader.take(section, endsStream: endsStream) {
            case .interim(let head):
                transaction?.didReceiveInterim(head)
                if head.status == 100 { sendExpectedBody() }
            case .head(let head, let length):
                if case .expecting = sending {
                    stopTimer()
                    sending = .abandoned
                }
                if endsStream { serverEnds() }
                apply(transaction?.didReceive(head, bodyLength: length))
                if endsStream { complete(nil) }
            case .trailers(let fields):
                serverEnds()
                complete(fields)
            }
        } catch {
            failMalformed(error, endsStream)
        }
    }

    /// Receives a part of a DATA frame.
    ///
    /// - Parameter endsStream: whether the stream ends with the frame.
    func receive(_ bytes: borrowing RawSpan, endsStream: Bool) {
        do throws(HTTP2ResponseError) {
            try reader.takeData(bytes.byteCount, endsStream: false)
        } catch {
            return failMalformed(error, endsStream)
        }
        if isPaused { held.append(bytes) } else { deliver(bytes) }
    }

    func receiveEndOfFrame(endsStream: Bool) {
        guard endsStream else {
            if !isPaused { giveWindowBack() }
            return
        }
        do throws(HTTP2ResponseError) {
            try reader.takeData(0, endsStream: true)
        } catch {
            return failMalformed(error, true)
        }
        serverEnds()
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
            drop()
            reset(.cancel)
        }
    }

    private func failMalformed(_ error: HTTP2ResponseError, _ endsStream: Bool) {
        // After both sides have ended the stream, no frame may be sent on it (RFC 9113 §5.1).
        if endsStream, case .done = sending { leave() } else { reset(.protocolError) }
        fail(error.loadError, eligibility: .seen)
    }

    /// Fails the stream, because content arrived before the head of the response.
    func failPrematureContent() {
        begin()
        failMalformed(HTTP2ResponseError(.contentBeforeHead), false)
    }

    /// Ends the stream, because the server broke a rule of HTTP/2.
    ///
    /// - Parameter resets: whether the stream must still be reset.
    func failViolation(_ violation: HTTP2ProtocolRule, _ code: HTTP2ErrorCode, resets: Bool) {
        leave(resetting: resets ? code : nil)
        fail(.http2(violation, code, from: connection.key), eligibility: .seen)
    }

    /// Handles a reset by the server.
    func receiveReset(_ code: HTTP2ErrorCode) {
        leave()
        stopTimer()
        switch code {
        case .refusedStream: fail(.reset(by: connection.key, code), eligibility: .refused)
        case .http11Required: fail(.reset(by: connection.key, code), eligibility: .needsHTTP1)
        default: fail(.reset(by: connection.key, code), eligibility: .seen)
        }
    }

    /// Allows the server to send more, after the exchange has accepted content.
    private func giveWindowBack() {
        guard let number, let session = connection.session else { return }
        let (known, beyond) = (session.receiveWindow(of: number), connection.receiving.unacknowledgedWindow)
        window.note(remaining: known + beyond)
        var increment = window.increment(growingWithin: &connection.growthBudget)
        // A server that has not acknowledged the client's settings may not exceed the window that it knows (RFC 9113
        // §6.5.3).
        if increment == nil, beyond > 0, known <= HTTP2Connection.Receiving.protocolWindow / 2 {
            increment = HTTP2Connection.Receiving.protocolWindow - known
        }
        guard let increment else { return }
        session.widenReceiveWindow(of: number, by: increment)
        connection.flushSoon()
    }
}
