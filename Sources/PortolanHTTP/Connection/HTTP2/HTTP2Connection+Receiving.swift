// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

extension HTTP2Connection {
    /// The receive state of a connection.
    struct Receiving {
        /// The size of a window before a setting or an update changes it (RFC 9113 §6.9.2).
        static let protocolWindow = 65_535

        let options: HTTP2Session.Options
        /// The maximum decoded size of a field section, in bytes. A larger section ends the connection.
        let largestDecodedSection: Int
        var scanner = HTTP2FrameScanner()
        var flood: HTTP2FloodLimit
        /// Bytes that arrived during a call of the session.
        var held = ByteBuffer()
        var isBusy = false
        /// Whether the server's first frame was the required SETTINGS frame.
        var isGreeted = false
        /// The field section that is being received.
        var section: HTTP2FieldSection?
        /// The decoded size of the section in bytes, as HTTP/2 counts it.
        var sectionSize = 0
        /// Whether the section spans more than one frame.
        var isSectionSplit = false
        /// Violations that end a stream or the connection. The frames that nghttp2 sends show which of them ends.
        var violations: [HTTP2Violation] = []
        /// Bytes that the server may send on each stream beyond the window that nghttp2 knows, until the server has
        /// acknowledged the client's settings.
        var unacknowledgedWindow = HTTP2ReceiveWindow.streamStart - protocolWindow
        var window = HTTP2ReceiveWindow(HTTP2ReceiveWindow.connection)
        /// The largest send window of all streams, before the server's settings apply.
        var largestSendWindow = 0
        /// The initial send window of new streams, before the server's settings apply.
        var initialSendWindow = protocolWindow

        init(_ limits: HTTPLimits) {
            let list = Self.largestFieldList(limits)
            let continuations = list / (16 << 10) + 5
            options = HTTP2Session.Options(
                settings: [
                    HTTP2Setting(parameter: .enablePush, value: 0),
                    HTTP2Setting(parameter: .initialWindowSize, value: UInt32(HTTP2ReceiveWindow.streamStart)),
                    HTTP2Setting(parameter: .maxHeaderListSize, value: UInt32(list)),
                    HTTP2Setting(parameter: .noRFC7540Priorities, value: 1),
                    // nghttp2 counts each part of a frame header that arrives separately. The flood limit counts
                    // frames.
                ], continuations: 9 * continuations)
            // A server that exceeds the limit by mistake fails only the one stream. A decompression bomb fails the
            // connection.
            largestDecodedSection = max(4 * list, 1 << 20)
            flood = HTTP2FloodLimit(continuations: continuations)
        }

        /// The limit of a field section as HTTP/2 counts it: with 32 more bytes for each field (RFC 9113 §6.5.2).
        private static func largestFieldList(_ limits: HTTPLimits) -> Int {
            let (section, most) = (max(limits.maximumFieldSectionBytes, limits.maximumTrailerSectionBytes), 16 << 20)
            return min(max(section, 1024), most) + 32 * min(max(limits.maximumFieldCount, 1), 60_000)
        }
    }
}

extension HTTP2Connection: ByteConnectionReceiver {
    var isIdle: Bool { idleSince != nil }

    func didReceive(_ bytes: borrowing RawSpan) {
        guard !receiving.isBusy, !sending.isBusy else { return receiving.held.append(bytes) }
        process(bytes)
        processHeld()
        flush()
    }

    func transportIsWritable() { flush() }

    /// Processes bytes that arrived during a call of the session.
    func processHeld() {
        while !receiving.held.isEmpty, !receiving.isBusy, !sending.isBusy {
            let held = receiving.held
            receiving.held.removeAll()
            held.withBytes { process($0) }
        }
    }

    private func process(_ bytes: borrowing RawSpan) {
        receiving.isBusy = true
        let violation = feed(bytes)
        receiving.isBusy = false
        if let violation { end(violation, violation.errorCode) }
        // The connection may have been closed during that call.
        endTransport()
    }

    /// Feeds the session with the received bytes, one frame at a time. The reaction to a frame is sent before the next
    /// frame is checked, however the frames arrive.
    private func feed(_ bytes: borrowing RawSpan) -> HTTP2ProtocolRule? {
        var (fed, offset) = (0, 0)
        while let found = receiving.scanner.next(in: bytes, from: &offset) {
            if let violation = feedSession(bytes.extracting(fed..<found.start)) { return violation }
            guard isActive else { return nil }
            fed = found.start
            let stream = found.frame.stream == 0 ? nil : streams.find(found.frame.stream)
            if let violation = receiving.flood.take(found, isOpen: stream != nil, now: transport?.loop.now ?? 0) { return violation }
            // nghttp2 ignores all priorities of RFC 7540 (RFC 9113 §6.3).
            if found.frame.type == .priority, found.frame.stream == 0 { return .frame }
            failPrematureContent(found.frame)
        }
        // nghttp2 checks a frame by its header, before the length of its padding has arrived.
        if let frame = receiving.scanner.frameAwaitingPadding {
            let start = max(fed, bytes.byteCount - HTTP2FrameScanner.headerLength)
            if let violation = feedSession(bytes.extracting(fed..<start)) { return violation }
            fed = start
            failPrematureContent(frame)
        }
        return feedSession(bytes.extracting(fed..<bytes.byteCount))
    }

    /// Fails a stream whose content arrives before its final head, also content of no bytes. nghttp2 treats the first
    /// case as a connection error and overlooks the second, but both are stream errors (RFC 9113 §8.1.1). nghttp2
    /// decides about frames that are too long or interrupt a field section.
    private func failPrematureContent(_ frame: HTTP2Frame) {
        guard isActive, frame.type == .data, frame.length <= HTTP2Frame.mostLength, let stream = streams.find(frame.stream),
            !stream.hasBegun || stream.isInHead && receiving.section == nil
        else { return }
        stream.failPrematureContent()
    }

    private func feedSession(_ bytes: borrowing RawSpan) -> HTTP2ProtocolRule? {
        if bytes.byteCount > 0, isActive, let error = session?.receive(bytes, for: self) {
            return HTTP2ProtocolRule(HTTP2Violation(error: error), error.errorCode)
        }
        // The frames that nghttp2 sends show which streams end, and whether the connection ends.
        if session?.owesVerdict == true || !receiving.violations.isEmpty { flushViolations() }
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
            stream.begin()
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
        receiving.section?.take(name, value)
        receiving.sectionSize += name.count + value.count + 32
        return receiving.sectionSize <= receiving.largestDecodedSection
    }

    func didReceiveFields(on number: Int32, endsStream: Bool) {
        guard let section = receiving.section else { return }
        receiving.section = nil
        streams.find(number)?.receive(section, endsStream: endsStream)
    }

    func didReceiveData(_ bytes: borrowing RawSpan, on number: Int32, endsStream: Bool) {
        if let stream = streams.find(number) { stream.receive(bytes, endsStream: endsStream) } else { giveWindowBack() }
    }

    func didReceiveDataFrame(on number: Int32, endsStream: Bool) {
        giveWindowBack()
        streams.find(number)?.receiveEndOfFrame(endsStream: endsStream)
    }

    private func giveWindowBack() {
        guard let session, isActive else { return }
        receiving.window.note(remaining: session.receiveWindow(of: 0))
        if let increment = receiving.window.increment() { session.widenReceiveWindow(of: 0, by: increment) }
    }

    func didReceiveReset(of number: Int32, _ code: HTTP2ErrorCode) { streams.find(number)?.receiveReset(code) }

    func didReceiveGoAway(lastStream: Int32, _ code: HTTP2ErrorCode) {
        guard isActive else { return }
        retire()
        let servesOthers = hasResponded || streams.hasAny(upTo: lastStream)
        failStreams(above: lastStream, .notProcessed(by: key, code), eligibility: .notProcessed(afterOthers: servesOthers))
        roomChanged(hadRoom: true)
    }

    func didReceive(_ settings: [HTTP2Setting]) {
        guard isActive else { return }
        receiving.isGreeted = true
        // This is a connection error (RFC 9113 §6.9.2), but nghttp2 resets only the stream.
        let window = settings.last { $0.parameter == .initialWindowSize }.map { Int($0.value) } ?? receiving.initialSendWindow
        if receiving.largestSendWindow + window - receiving.initialSendWindow > Int(Int32.max) {
            return end(.windowUpdate, .flowControlError)
        }
        if let limit = settings.last(where: { $0.parameter == .maxConcurrentStreams }) { serverAllows(streams: Int(limit.value)) }
    }

    func didReceiveSettingsAcknowledgement() { receiving.unacknowledgedWindow = 0 }

    func didReceive(_ violation: HTTP2Violation) { receiving.violations.append(violation) }

    /// A stream that ended in order has already left the table.
    func didClose(_ number: Int32, _ code: HTTP2ErrorCode) {
        if let stream = streams.find(number), !stream.awaitsReport { stream.receiveReset(code) }
    }
}
