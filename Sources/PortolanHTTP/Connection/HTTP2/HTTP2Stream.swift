// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOCore
import NIOHPACK
import NIOHTTP2
import PortolanCore

/// One exchange on an HTTP/2 connection. On the connection's event loop only.
///
/// While the exchange is paused the stream gives no window back, so that its sender stops; what was allowed before is held.
///
/// RFC 9113 §5, §8.1
final class HTTP2Stream {
    private enum Place {
        /// Counted by the connection, and not begun.
        case reserved
        case open(Int32)
        /// Over for the connection; what it brought may still be held.
        case left
    }

    private enum Ending {
        case complete(trailers: HTTPFields?)
        case failed(LoadError, RequestFate)
    }

    let connection: HTTP2Connection
    private(set) var exchange: (any Exchange)?
    private var place = Place.reserved
    let isReused: Bool

    private var reader: HTTP2AnswerReader
    private(set) var window = HTTP2ReceiveWindow(HTTP2ReceiveWindow.streamStart)
    private var isPaused = false
    /// Content that came while the exchange was paused: a copy, for the buffer it came in is that of all streams.
    private var held = ByteBuffer()
    /// How the exchange ends when what is held was delivered.
    private var ending: Ending?

    var sending = Sending.done
    /// Bytes of the body that were handed over and not written yet.
    var bytesInFlight = 0
    var sentBytes: Int64 = 0
    var timer: Scheduled<Void>?

    enum Sending {
        case done
        /// The body waits for the server's word.
        case expecting
        case body
        /// Its end was handed over, and not written yet.
        case ending
        /// The answer came first; the rest of the body is not sent.
        case abandoned
    }

    init(_ exchange: any Exchange, on connection: HTTP2Connection, isReused: Bool) {
        self.exchange = exchange
        self.connection = connection
        self.isReused = isReused
        reader = HTTP2AnswerReader(exchange.outgoing.method, limits: connection.limits)
    }

    /// While it is open.
    var number: Int32? { if case .open(let number) = place { number } else { nil } }
}

// MARK: From the load

extension HTTP2Stream: ExchangeCarrier {
    var report: TransferReport {
        var report = connection.base
        report.isReused = isReused
        report.bytesSent = sentBytes
        report.bytesReceived = reader.byteCount
        return report
    }

    func start() {
        guard let exchange else { return }
        let head: HTTP2RequestHead
        do throws(LoadError) {
            head = try HTTP2RequestHead(exchange.outgoing)
            try head.checkSize()
        } catch {
            leave()
            return fail(error, fate: .seen)
        }
        guard let number = connection.open(self) else {
            leave()
            let fate = RequestFate.passedOver(afterOthers: connection.hasAnswered)
            return fail(.passedOver(by: connection.key, .noError), fate: fate)
        }
        place = .open(number)
        send(head)
    }

    func resumeReading() {
        guard isPaused else { return }
        isPaused = false
        if held.readableBytes > 0 {
            let bytes = held
            held = ByteBuffer()
            deliver(bytes)
        }
        guard !isPaused else { return }
        switch ending {
        case .complete(let trailers)?: complete(trailers)
        case .failed(let error, let fate)?: fail(error, fate: fate)
        case nil: giveWindowBack()
        }
    }

    func cancel() {
        guard exchange != nil else { return }
        drop()
        reset(.cancel)
    }

    /// The exchange hears nothing more.
    private func drop() {
        exchange = nil
        isPaused = false
        held = ByteBuffer()
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
    /// Ends the stream where it is open.
    func reset(_ code: NIOHTTP2.HTTP2ErrorCode) { leave(resetting: code) }

    private func leave(resetting code: NIOHTTP2.HTTP2ErrorCode? = nil) {
        if case .left = place { return }
        let number = number
        place = .left
        connection.release(number, growth: window.growth, resetting: code)
    }

    /// The connection has let go of the stream by itself.
    func leavesConnection() { place = .left }

    /// The server sends no more: its side is over, and with it the stream.
    private func serverEnds() {
        stopTimer()
        switch sending {
        case .done: leave()
        // The answer does not depend on the rest of the request (RFC 9113 §8.1).
        case .expecting, .body, .ending, .abandoned:
            sending = .abandoned
            reset(.noError)
        }
    }

    private func complete(_ trailers: HTTPFields?) {
        connection.hasAnswered = true
        guard !isPaused else {
            ending = .complete(trailers: trailers)
            return
        }
        let report = report
        let done = exchange
        drop()
        done?.didEnd(trailers: trailers.flatMap { $0.isEmpty ? nil : $0 }, report: report)
    }

    /// - Parameter fate: what the server says became of the request; `nil` where it says nothing. Once an answer has begun the request was seen, whatever
    ///   the server says later.
    func fail(_ error: LoadError, fate: RequestFate? = nil) {
        let fate = reader.hasBegun ? .seen : fate ?? .unanswered
        guard !isPaused else {
            ending = .failed(error, fate)
            return
        }
        let report = report
        let failed = exchange
        drop()
        failed?.didFail(error, fate: fate, report: report)
    }
}

// MARK: Reading

extension HTTP2Stream {
    func receive(_ block: HPACKHeaders, endsStream: Bool) {
        do throws(HTTP2ResponseError) {
            switch try reader.take(block, endsStream: endsStream) {
            case .interim(let head):
                exchange?.didReceiveInterim(head)
                if head.status == 100 { goAhead() }
            case .head(let head, let length):
                if case .expecting = sending {
                    stopTimer()
                    sending = .abandoned
                }
                if endsStream { serverEnds() }
                heed(exchange?.didReceive(head, bodyLength: length))
                if endsStream { complete(nil) }
            case .trailers(let fields):
                serverEnds()
                complete(fields)
            }
        } catch {
            isMalformed(error, endsStream)
        }
    }

    func receive(_ bytes: ByteBuffer, endsStream: Bool) {
        do throws(HTTP2ResponseError) {
            try reader.takeData(bytes.readableBytes, endsStream: endsStream)
        } catch {
            return isMalformed(error, endsStream)
        }
        if endsStream { serverEnds() }
        if isPaused {
            held.writeImmutableBuffer(bytes)
        } else if bytes.readableBytes > 0 {
            deliver(bytes)
        }
        if endsStream { complete(nil) }
    }

    private func deliver(_ bytes: ByteBuffer) {
        guard let exchange else { return }
        let flow = unsafe bytes.withUnsafeReadableBytes { unsafe exchange.didLoad(RawSpan(_unsafeBytes: $0)) }
        heed(flow)
    }

    private func heed(_ flow: Flow?) {
        switch flow {
        case .keepGoing, nil: break
        case .pause: isPaused = exchange != nil
        case .stopped:
            drop()
            reset(.cancel)
        }
    }

    private func isMalformed(_ error: HTTP2ResponseError, _ endsStream: Bool) {
        // Of a stream that both sides have ended nothing more may be said (RFC 9113 §5.1).
        if endsStream, case .done = sending { leave() } else { reset(.protocolError) }
        fail(error.loadError, fate: .seen)
    }

    /// The protocol's machine refuses what the server sent on the stream, and has reset it.
    func isViolated(_ error: any Error, _ code: NIOHTTP2.HTTP2ErrorCode?) {
        leave()
        let isEarly = reader.isInHead && error is NIOHTTP2Errors.BadStreamStateTransition
        fail(isEarly ? HTTP2ResponseError(.contentBeforeHead).loadError : .http2(error, code, from: connection.key), fate: .seen)
    }

    /// The server ended the stream before its time.
    func receiveReset(_ code: NIOHTTP2.HTTP2ErrorCode) {
        leave()
        stopTimer()
        switch code {
        case .refusedStream: fail(.reset(by: connection.key, code), fate: .refused)
        case .http11Required: fail(.reset(by: connection.key, code), fate: .needsHTTP1)
        default: fail(.reset(by: connection.key, code), fate: .seen)
        }
    }

    /// The server may send so many more bytes on the stream.
    func windowChanged(remaining: Int) {
        window.note(remaining: remaining)
        if !isPaused { giveWindowBack() }
    }

    private func giveWindowBack() {
        guard let number, let increment = window.increment(growingWithin: &connection.growthBudget) else { return }
        connection.send(.windowUpdate(windowSizeIncrement: increment), on: number)
    }
}
