// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

extension HTTP2Connection {
    /// The receive state of a connection.
    struct Receiving {
        /// The size of a window in bytes before a setting or an update changes it (RFC 9113 §6.9.2).
        static let protocolWindow = 65_535

        let options: HTTP2Session.Options
        /// The maximum decoded size of a field section in bytes. If a section is larger, the connection ends.
        let maximumDecodedSectionSize: Int
        var scanner = HTTP2FrameScanner()
        var flood: HTTP2FloodLimit
        /// Bytes that arrived during a call of the session.
        var bufferedBytes = ByteBuffer()
        var isBusy = false
        /// Whether the server has sent its first SETTINGS frame.
        var hasReceivedSettings = false
        /// The field section that is being received.
        var section: HTTP2FieldSection?
        /// The decoded size of the section in bytes, with 32 more bytes for each field (RFC 9113 §6.5.2).
        var sectionSize = 0
        /// Whether the field section has more than one frame.
        var isSectionSplit = false
        /// Violations that nghttp2 has reported. The next frames that nghttp2 sends show whether a stream or the
        /// connection ends.
        var violations: [HTTP2Violation] = []
        /// By how many bytes the announced window of each stream is larger than the window that nghttp2 counts. 0 after
        /// the server has acknowledged the client's settings.
        var unacknowledgedWindow = HTTP2ReceiveWindow.streamStart - protocolWindow
        var window = HTTP2ReceiveWindow(HTTP2ReceiveWindow.connection)
        /// The largest send window of all streams in bytes, before the server's new settings apply.
        var largestSendWindow = 0
        /// The initial send window of new streams in bytes, before the server's new settings apply.
        var initialSendWindow = protocolWindow

        init(_ limits: HTTPLimits) {
            let listSize = Self.maximumFieldListSize(limits)
            let maximumContinuations = listSize / (16 << 10) + 5
            options = HTTP2Session.Options(
                settings: [
                    HTTP2Setting(parameter: .enablePush, value: 0),
                    HTTP2Setting(parameter: .initialWindowSize, value: UInt32(HTTP2ReceiveWindow.streamStart)),
                    HTTP2Setting(parameter: .maxHeaderListSize, value: UInt32(listSize)),
                    HTTP2Setting(parameter: .noRFC7540Priorities, value: 1),
                ],
                // nghttp2 counts a frame header up to 9 times, once for each byte that arrives separately.
                maximumContinuations: 9 * maximumContinuations)
            // If a section is a little too large, only its stream fails. A decompression bomb ends the connection.
            maximumDecodedSectionSize = max(4 * listSize, 1 << 20)
            flood = HTTP2FloodLimit(maximumContinuations: maximumContinuations)
        }

        /// The value of SETTINGS_MAX_HEADER_LIST_SIZE, with 32 bytes for each field (RFC 9113 §6.5.2).
        private static func maximumFieldListSize(_ limits: HTTPLimits) -> Int {
            let (section, upperBound) = (max(limits.maximumFieldSectionBytes, limits.maximumTrailerSectionBytes), 16 << 20)
            return min(max(section, 1024), upperBound) + 32 * min(max(limits.maximumFieldCount, 1), 60_000)
        }
    }
}

extension HTTP2Connection: ByteConnectionReceiver {
    var isIdle: Bool { idleSince != nil }

    func didReceive(_ bytes: borrowing RawSpan) {
        guard !receiving.isBusy, !sending.isBusy else { return receiving.bufferedBytes.append(bytes) }
        process(bytes)
        processBufferedBytes()
        flush()
    }

    func transportIsWritable() { flush() }

    /// Processes bytes that arrived during a call of the session.
    func processBufferedBytes() {
        while !receiving.bufferedBytes.isEmpty, !receiving.isBusy, !sending.isBusy {
            let bufferedBytes = receiving.bufferedBytes
            receiving.bufferedBytes.removeAll()
            bufferedBytes.withBytes { process($0) }
        }
    }

    private func process(_ bytes: borrowing RawSpan) {
        receiving.isBusy = true
        let violation = feed(bytes)
        receiving.isBusy = false
        if let violation { end(violation, violation.errorCode) }
        // The connection can have been closed during that call.
        endTransport()
    }

    /// Passes the received bytes to the session, one frame at a time. RST_STREAM and GOAWAY frames that the session
    /// queues are sent before it processes the next frame.
    private func feed(_ bytes: borrowing RawSpan) -> HTTP2ProtocolRule? {
        var (fedCount, offset) = (0, 0)
        while let scanned = receiving.scanner.next(in: bytes, from: &offset) {
            if let violation = feedSession(bytes.extracting(fedCount..<scanned.start)) { return violation }
            guard isActive else { return nil }
            fedCount = scanned.start
            let frame = scanned.frame
            let stream = frame.stream == 0 ? nil : streams.find(frame.stream)
            if let violation = receiving.flood.record(scanned, isOpen: stream != nil, now: transport?.loop.now ?? 0) { return violation }
            // A PRIORITY frame on stream 0 is an error (RFC 9113 §6.3). nghttp2 ignores all PRIORITY frames.
            if frame.type == .priority, frame.stream == 0 { return .frame }
            failPrematureContent(frame)
        }
        // nghttp2 checks the header of a frame before the length of its padding has arrived. So this check comes first.
        if let frame = receiving.scanner.frameAwaitingPadding {
            let start = max(fedCount, bytes.byteCount - HTTP2FrameScanner.headerLength)
            if let violation = feedSession(bytes.extracting(fedCount..<start)) { return violation }
            fedCount = start
            failPrematureContent(frame)
        }
        return feedSession(bytes.extracting(fedCount..<bytes.byteCount))
    }

    /// Fails the stream if a DATA frame arrives before the final head. This is a stream error (RFC 9113 §8.1.1).
    ///
    /// nghttp2 would end the connection if the frame has content, and ignore an empty frame. nghttp2 itself handles
    /// frames that are too long, or that interrupt a field section.
    private func failPrematureContent(_ frame: HTTP2Frame) {
        guard isActive, frame.type == .data, frame.length <= HTTP2Frame.maximumLength, let stream = streams.find(frame.stream),
            !stream.hasResponseBegun || stream.isInHead && receiving.section == nil
        else { return }
        stream.failPrematureContent()
    }

    private func feedSession(_ bytes: borrowing RawSpan) -> HTTP2ProtocolRule? {
        if bytes.byteCount > 0, isActive, let error = session?.receive(bytes, for: self) {
            return HTTP2ProtocolRule(HTTP2Violation(error: error), error.errorCode)
        }
        // The next frames that nghttp2 sends show which streams end, and whether the connection ends.
        if session?.mustDrain == true || !receiving.violations.isEmpty { flushViolations() }
        return nil
    }
}

// MARK: From the session

extension HTTP2Connection {
    func didBegin(_ frame: HTTP2Frame) {
        guard isActive else { return }
        if frame.type == .headers { receiving.isSectionSplit = !frame.endsSection }
        switch frame.type {
        case .data, .headers:
            guard let stream = streams.find(frame.stream) else { return }
            stream.responseDidBegin()
            if frame.type == .data, frame.length > (session?.receiveWindow(of: frame.stream) ?? 0) {
                stream.failViolation(.flowControl, .flowControlError, resets: true)
            }
        case .settings:
            receiving.initialSendWindow = session?.initialSendWindow ?? 0
            receiving.largestSendWindow = streams.numbers.reduce(0) { max($0, session?.sendWindow(of: $1) ?? 0) }
        default: break
        }
    }

    func didBeginFields(on stream: Int32) {
        receiving.section = streams.find(stream)?.makeSection()
        receiving.sectionSize = 0
    }

    func didReceiveField(_ name: Span<UInt8>, _ value: Span<UInt8>, on stream: Int32) -> Bool {
        receiving.section?.add(name, value)
        receiving.sectionSize += name.count + value.count + 32
        return receiving.sectionSize <= receiving.maximumDecodedSectionSize
    }

    func didReceiveFields(on number: Int32, endsStream: Bool) {
        guard let section = receiving.section else { return }
        receiving.section = nil
        streams.find(number)?.receiveFields(section, endsStream: endsStream)
    }

    func didReceiveData(_ bytes: borrowing RawSpan, on number: Int32, endsStream: Bool) {
        if let stream = streams.find(number) { stream.receiveData(bytes, endsStream: endsStream) } else { extendReceiveWindow() }
    }

    func didReceiveDataFrame(on number: Int32, endsStream: Bool) {
        extendReceiveWindow()
        streams.find(number)?.receiveEndOfFrame(endsStream: endsStream)
    }

    private func extendReceiveWindow() {
        guard let session, isActive else { return }
        receiving.window.update(remaining: session.receiveWindow(of: 0))
        if let increment = receiving.window.increment() { session.widenReceiveWindow(of: 0, by: increment) }
    }

    func didReceiveReset(of number: Int32, _ code: HTTP2ErrorCode) { streams.find(number)?.receiveReset(code) }

    func didReceiveGoAway(lastStream: Int32, _ code: HTTP2ErrorCode) {
        guard isActive else { return }
        stopAcceptingStreams()
        let servesOtherRequests = hasResponded || streams.hasAny(upTo: lastStream)
        failStreams(above: lastStream, .notProcessed(by: key, code), eligibility: .notProcessed(afterOthers: servesOtherRequests))
        availabilityChanged(wasAvailable: true)
    }

    func didReceive(_ settings: [HTTP2Setting]) {
        guard isActive else { return }
        receiving.hasReceivedSettings = true
        // A window that overflows is a connection error (RFC 9113 §6.9.2), but nghttp2 resets only the stream.
        let window = settings.last { $0.parameter == .initialWindowSize }.map { Int($0.value) } ?? receiving.initialSendWindow
        if receiving.largestSendWindow + window - receiving.initialSendWindow > Int(Int32.max) {
            return end(.windowUpdate, .flowControlError)
        }
        if let limit = settings.last(where: { $0.parameter == .maxConcurrentStreams }) { setStreamLimit(Int(limit.value)) }
    }

    func didReceiveSettingsAcknowledgement() { receiving.unacknowledgedWindow = 0 }

    func didReceive(_ violation: HTTP2Violation) { receiving.violations.append(violation) }

    /// Fails the stream if it is still in the table. A stream that ended normally was removed before.
    func didClose(_ number: Int32, _ code: HTTP2ErrorCode) {
        if let stream = streams.find(number), !stream.isReportPending { stream.receiveReset(code) }
    }
}
