// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport

extension HTTP2Connection {
    /// The send state of a connection.
    struct Sending {
        /// The number of bytes in one write.
        static let writeSize = 64 << 10
        /// How many writes follow one another before other work runs on the event loop.
        static let writesPerIteration = 4
        /// The maximum number of bytes that ``HTTP2Connection/flushViolations()`` writes while the transport is full.
        /// nghttp2 queues up to 1000 replies of 17 bytes.
        static let maximumBytesBeyondFull = 32 << 10

        var isBusy = false
        var isFlushScheduled = false
        /// How many bytes were written since the transport became full.
        var bytesBeyondFull = 0
        /// Whether only control frames are sent. Bodies wait.
        var pausesBodies = false
        /// Streams with a body that waits because of `pausesBodies`.
        var pausedBodies: [Int32] = []
        /// The buffer for writes. Empty between two writes.
        var output: [UInt8] = []
        /// Reports to deliver after the current call of the session.
        var reports: [Report] = []
        /// The code of the GOAWAY frame with which the session has ended the connection.
        var goAwayCode: HTTP2ErrorCode?
    }

    /// An event to report to a stream.
    enum Report {
        /// A number of body bytes was sent.
        case body(HTTP2Stream, Int)
        case requestSent(HTTP2Stream)
        case bodyFailed(HTTP2Stream)
        case violated(HTTP2Stream, HTTP2ErrorCode)
        case notSent(HTTP2Stream, HTTP2LibraryError)
    }

    /// Schedules a flush at the end of the event-loop iteration, so that the frames of all streams are sent together.
    func scheduleFlush() {
        guard !receiving.isBusy, !sending.isFlushScheduled, let loop = transport?.loop else { return }
        sending.isFlushScheduled = true
        loop.atEndOfIteration { [self] in
            sending.isFlushScheduled = false
            flush()
        }
    }

    /// Schedules a flush after other work on the event loop.
    private func scheduleFlushAfterOtherWork() {
        guard !sending.isFlushScheduled, let loop = transport?.loop else { return }
        sending.isFlushScheduled = true
        loop.execute { [connection = LoopBound(self)] in
            connection.value.sending.isFlushScheduled = false
            connection.value.flush()
        }
    }

    /// Sends the session's output until the transport is full. The rest stays in the session, and bodies are not read.
    func flush() {
        guard isActive, !receiving.isBusy, !sending.isBusy else { return }
        resumePausedBodies()
        var writes = 0
        while isActive, let transport, transport.isWritable {
            guard writes < Sending.writesPerIteration else { return scheduleFlushAfterOtherWork() }
            writes += 1
            let hasWritten = write(to: transport)
            // Deliver also if nothing was written, because the session can have dropped a request.
            deliverReports()
            guard hasWritten else { break }
        }
        endTransport()
        processBufferedBytes()
    }

    /// - Returns: whether there was anything to send.
    private func write(to transport: any ByteConnection) -> Bool {
        guard let session else { return false }
        sending.isBusy = true
        // The session calls back and uses `sending`. So the buffer is moved out of `sending` (exclusive access).
        var output: [UInt8] = []
        swap(&output, &sending.output)
        let error = session.send(into: &output, atMost: Sending.writeSize, for: self)
        let isEmpty = output.isEmpty
        sending.bytesBeyondFull = transport.isWritable ? 0 : sending.bytesBeyondFull + output.count
        if !isEmpty { transport.write(output) }
        output.removeAll(keepingCapacity: true)
        swap(&output, &sending.output)
        sending.isBusy = false
        if error != nil { end(.other, .internalError) }
        if sending.bytesBeyondFull > Sending.maximumBytesBeyondFull { end(.tooManyFrames, .enhanceYourCalm) }
        return !isEmpty
    }

    /// Sends control frames even if the transport is full. They show whether a violation ends a stream or the
    /// connection, and streams must fail even if the peer reads nothing. The number of such bytes is limited.
    func flushViolations() {
        sending.pausesBodies = true
        if let transport, isActive, !sending.isBusy {
            _ = write(to: transport)
            deliverReports()
        }
        sending.pausesBodies = false
        receiving.violations.removeAll()
    }

    /// Sends the last control frames of the connection.
    func flushFinalFrames() {
        sending.pausesBodies = true
        if let transport { _ = write(to: transport) }
        deliverReports()
    }

    private func resumePausedBodies() {
        guard !sending.pausedBodies.isEmpty else { return }
        for number in sending.pausedBodies { session?.resumeBody(of: number) }
        sending.pausedBodies.removeAll()
    }

    private func deliverReports() {
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

    /// Ends the connection after nghttp2 has sent a GOAWAY with this code.
    private func end(_ code: HTTP2ErrorCode) {
        // nghttp2 reports a name or value of more than 64 KiB as a compression error (`NGHTTP2_HD_MAX_NV` in
        // nghttp2_hd.h). Such a section has several frames.
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
        // A stream that is still in the table was reset by nghttp2 itself. The client removes a stream before a reset.
        case .resetStream:
            guard let stream = streams.find(frame.stream) else { return }
            stream.isReportPending = true
            sending.reports.append(stream.bodyFailure != nil ? .bodyFailed(stream) : .violated(stream, code ?? .protocolError))
        default: break
        }
    }

    func didNotSendRequest(on number: Int32, _ error: HTTP2LibraryError) {
        guard let stream = streams.find(number) else { return }
        stream.isReportPending = true
        sending.reports.append(.notSent(stream, error))
    }

    func readBody(of number: Int32, into buffer: UnsafeMutableRawBufferPointer) -> HTTP2BodyRead {
        guard let stream = streams.find(number) else { return .deferred }
        guard !sending.pausesBodies else {
            sending.pausedBodies.append(number)
            return .deferred
        }
        return unsafe stream.readBody(into: buffer)
    }
}
