// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

extension HTTP2Connection {
    /// The send state of a connection.
    struct Sending {
        /// Bytes per write.
        static let writeSize = 64 << 10
        /// How many writes are made before other work on the event loop runs.
        static let writesInTurn = 4
        /// How many bytes are written although the transport is full (``HTTP2Connection/flushViolations()``). nghttp2
        /// queues up to 1000 replies of 17 bytes.
        static let mostBeyondFull = 32 << 10

        var isBusy = false
        var isFlushPlanned = false
        /// Bytes that were written since the transport became full.
        var beyondFull = 0
        /// Whether bodies wait although the server's window has room, because only control frames may be sent.
        var holdsBodies = false
        /// Streams whose body waits because of `holdsBodies`.
        var heldBodies: [Int32] = []
        /// Empty between two writes.
        var output: [UInt8] = []
        /// Reports to deliver once the session may be called again.
        var reports: [Report] = []
        /// The code with which the session has ended the connection.
        var goAwayCode: HTTP2ErrorCode?
    }

    enum Report {
        case body(HTTP2Stream, Int)
        case requestSent(HTTP2Stream)
        case bodyFailed(HTTP2Stream)
        case violated(HTTP2Stream, HTTP2ErrorCode)
        case notSent(HTTP2Stream, HTTP2LibraryError)
    }

    /// Schedules a flush. Frames of all streams that are submitted in one event-loop iteration are sent together, at
    /// its end.
    func flushSoon() {
        guard !receiving.isBusy, !sending.isFlushPlanned, let loop = transport?.loop else { return }
        sending.isFlushPlanned = true
        loop.atEndOfIteration { [self] in
            sending.isFlushPlanned = false
            flush()
        }
    }

    /// Schedules a flush after other work on the event loop.
    private func flushLater() {
        guard !sending.isFlushPlanned, let loop = transport?.loop else { return }
        sending.isFlushPlanned = true
        loop.execute { [connection = LoopBound(self)] in
            connection.value.sending.isFlushPlanned = false
            connection.value.flush()
        }
    }

    /// Sends the session's output as far as the transport accepts it. The rest stays in the session, and bodies are not
    /// read.
    func flush() {
        guard isActive, !receiving.isBusy, !sending.isBusy else { return }
        resumeHeldBodies()
        var writes = 0
        while isActive, let transport, transport.isWritable {
            guard writes < Sending.writesInTurn else { return flushLater() }
            writes += 1
            let hasWritten = write(to: transport)
            // A request may have been dropped although nothing was written.
            report()
            guard hasWritten else { break }
        }
        endTransport()
        processHeld()
    }

    /// - Returns: whether there was anything to send.
    private func write(to transport: any ByteConnection) -> Bool {
        guard let session else { return false }
        sending.isBusy = true
        // The session calls back, so no access to `sending` may last longer than a statement.
        var output: [UInt8] = []
        swap(&output, &sending.output)
        let error = session.send(into: &output, atMost: Sending.writeSize, for: self)
        let isEmpty = output.isEmpty
        sending.beyondFull = transport.isWritable ? 0 : sending.beyondFull + output.count
        if !isEmpty { transport.write(output) }
        output.removeAll(keepingCapacity: true)
        swap(&output, &sending.output)
        sending.isBusy = false
        if error != nil { end(.other, .internalError) }
        if sending.beyondFull > Sending.mostBeyondFull { end(.tooManyFrames, .enhanceYourCalm) }
        return !isEmpty
    }

    /// Sends control frames even if the transport is full, so that the session decides what a violation ends. A peer
    /// that reads nothing must not keep the streams from failing. The replies that such a peer provokes are limited.
    func flushViolations() {
        sending.holdsBodies = true
        if let transport, isActive, !sending.isBusy {
            _ = write(to: transport)
            report()
        }
        sending.holdsBodies = false
        receiving.violations.removeAll()
    }

    /// Sends the last control frames of the connection.
    func flushLast() {
        sending.holdsBodies = true
        if let transport { _ = write(to: transport) }
        report()
    }

    private func resumeHeldBodies() {
        guard !sending.heldBodies.isEmpty else { return }
        for number in sending.heldBodies { session?.resumeBody(of: number) }
        sending.heldBodies.removeAll()
    }

    private func report() {
        while !sending.reports.isEmpty {
            let reports = sending.reports
            sending.reports.removeAll(keepingCapacity: true)
            for report in reports {
                switch report {
                case .body(let stream, let count): stream.transaction?.didSend(bodyBytes: count)
                case .requestSent(let stream): stream.transaction?.requestIsSent()
                case .bodyFailed(let stream): stream.failBody()
                case .violated(let stream, let code):
                    stream.failViolation(HTTP2ProtocolRule(violation(of: stream.number), code), code, resets: false)
                case .notSent(let stream, let error): stream.failNotSent(error)
                }
            }
        }
        if let code = sending.goAwayCode { end(code) }
    }

    /// Ends the connection, because nghttp2 has ended it.
    private func end(_ code: HTTP2ErrorCode) {
        // nghttp2 decodes no name or value of more than 64 KiB (`NGHTTP2_HD_MAX_NV` in nghttp2_hd.h). Such a section
        // spans several frames.
        let isTooLong = code == .compressionError && receiving.isSectionSplit
        end(isTooLong ? .fieldSectionTooLarge : HTTP2ProtocolRule(receiving.violations.last, code), code)
    }

    private func violation(of number: Int32?) -> HTTP2Violation? { receiving.violations.last { $0.stream == number } }
}

// MARK: From the session

extension HTTP2Connection: HTTP2SessionDelegate {
    func didSend(_ frame: HTTP2Frame, _ code: HTTP2ErrorCode?) {
        switch frame.type {
        case .goAway:
            if isActive { sending.goAwayCode = code }
        case .headers:
            receiving.flood.didSendRequest()
            if frame.endsStream, let stream = streams.find(frame.stream) { sending.reports.append(.requestSent(stream)) }
        case .data:
            receiving.flood.didSendData(frame.length)
            guard let stream = streams.find(frame.stream) else { return }
            stream.didSendBody(frame.length, isLast: frame.endsStream)
            if frame.length > 0 { sending.reports.append(.body(stream, frame.length)) }
            if frame.endsStream { sending.reports.append(.requestSent(stream)) }
        // Streams that the client reset have left the table. nghttp2 resets the others.
        case .resetStream:
            guard let stream = streams.find(frame.stream) else { return }
            stream.awaitsReport = true
            sending.reports.append(stream.bodyFailure != nil ? .bodyFailed(stream) : .violated(stream, code ?? .protocolError))
        default: break
        }
    }

    func didNotSendRequest(on number: Int32, _ error: HTTP2LibraryError) {
        guard let stream = streams.find(number) else { return }
        stream.awaitsReport = true
        sending.reports.append(.notSent(stream, error))
    }

    func readBody(of number: Int32, into buffer: UnsafeMutableRawBufferPointer) -> HTTP2BodyRead {
        guard let stream = streams.find(number) else { return .deferred }
        guard !sending.holdsBodies else {
            sending.heldBodies.append(number)
            return .deferred
        }
        return unsafe stream.readBody(into: buffer)
    }
}
