// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import PortolanTransport
import PortolanHTTPSyntax

extension HTTP2Connection {
    /// What a connection keeps about bytes that come in.
    struct Receiving {
        /// What a window is before a setting or an update changes it (RFC 9113 §6.9.2).
        static let protocolWindow = 65_535

        let options: HTTP2Session.Options
        /// A field section that takes more than that, when it is decoded, ends the connection.
        let largestDecodedSection: Int
        var scanner = HTTP2FrameScanner()
        var flood: HTTP2FloodLimit
        /// Bytes that arrived inside a call of the session.
        var held = ByteBuffer()
        var isBusy = false
        /// Whether the server's first frame was what it has to be.
        var isGreeted = false
        /// The field section that arrives.
        var section: HTTP2FieldSection?
        /// Bytes of it, decoded, as HTTP/2 counts them.
        var sectionSize = 0
        /// Whether it takes more than one frame.
        var isSectionSplit = false
        /// Violations that end a stream, or the connection: which one shows in what nghttp2 sends.
        var violations: [HTTP2Violation] = []
        /// What the server may send on each stream beyond what nghttp2 knows of, until it has acknowledged our settings.
        var unacknowledgedWindow = HTTP2ReceiveWindow.streamStart - protocolWindow
        var window = HTTP2ReceiveWindow(HTTP2ReceiveWindow.connection)
        /// The largest window on which the server lets us send, before its settings apply.
        var largestSendWindow = 0
        /// The window with which the server has streams begin, before its settings apply.
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
                    // nghttp2 counts each part of a frame's header that arrives by itself; the flood limit counts frames.
                ], continuations: 9 * continuations)
            // A server that goes beyond the limit by mistake fails the one stream; a bomb fails the connection.
            largestDecodedSection = max(4 * list, 1 << 20)
            flood = HTTP2FloodLimit(continuations: continuations)
        }

        /// The field section as HTTP/2 counts it: with 32 bytes more for each field (RFC 9113 §6.5.2).
        private static func largestFieldList(_ limits: HTTPLimits) -> Int {
            let (section, most) = (max(limits.fieldSection, limits.trailerSection), 16 << 20)
            return min(max(section, 1024), most) + 32 * min(max(limits.fieldCount, 1), 60_000)
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

    /// Bytes that a call from inside the session brought.
    func processHeld() {
        while !receiving.held.isEmpty, !receiving.isBusy, !sending.isBusy {
            let held = receiving.held
            receiving.held.removeAll()
            held.withBytes { process($0) }
        }
    }

    private func process(_ bytes: borrowing RawSpan) {
        receiving.isBusy = true
        let breach = feed(bytes)
        receiving.isBusy = false
        if let breach { end(breach, breach.errorCode) }
        // The connection was closed from inside.
        endTransport()
    }

    /// Gives the session what came, one frame at a time: the answer to a frame leaves before the next frame is judged, however they arrive.
    private func feed(_ bytes: borrowing RawSpan) -> HTTP2ProtocolRule? {
        var (fed, offset) = (0, 0)
        while let found = receiving.scanner.next(in: bytes, from: &offset) {
            if let breach = feedSession(bytes.extracting(fed..<found.start)) { return breach }
            guard isActive else { return nil }
            fed = found.start
            let stream = found.frame.stream == 0 ? nil : streams.find(found.frame.stream)
            if let breach = receiving.flood.take(found, isOpen: stream != nil, now: transport?.loop.now ?? 0) { return breach }
            // nghttp2 passes over all priorities of RFC 7540 (RFC 9113 §6.3).
            if found.frame.type == .priority, found.frame.stream == 0 { return .frame }
            failPrematureContent(found.frame)
        }
        // nghttp2 judges a frame by its header, before the length of its padding has come.
        if let frame = receiving.scanner.frameAwaitingPadding {
            let start = max(fed, bytes.byteCount - HTTP2FrameScanner.headerLength)
            if let breach = feedSession(bytes.extracting(fed..<start)) { return breach }
            fed = start
            failPrematureContent(frame)
        }
        return feedSession(bytes.extracting(fed..<bytes.byteCount))
    }

    /// nghttp2 takes content without a head for an error of the connection; it is one of the stream (RFC 9113 §8.1.1). Of frames that are too long
    /// nghttp2 decides.
    private func failPrematureContent(_ frame: HTTP2Frame) {
        guard isActive, frame.type == .data, frame.length <= HTTP2Frame.mostLength, let stream = streams.find(frame.stream),
            !stream.hasBegun
        else { return }
        stream.contentIsPremature()
    }

    private func feedSession(_ bytes: borrowing RawSpan) -> HTTP2ProtocolRule? {
        if bytes.byteCount > 0, isActive, let error = session?.receive(bytes, for: self) {
            return HTTP2ProtocolRule(HTTP2Violation(error: error), error.errorCode)
        }
        // What nghttp2 sends tells which streams end, and whether the connection does.
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
                stream.isViolated(.flowControl, .flowControlError, resets: true)
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
        let servesOthers = hasAnswered || streams.hasAny(upTo: lastStream)
        failStreams(above: lastStream, .notProcessed(by: key, code), eligibility: .notProcessed(afterOthers: servesOthers))
        roomChanged(hadRoom: true)
    }

    func didReceive(_ settings: [HTTP2Setting]) {
        guard isActive else { return }
        receiving.isGreeted = true
        // An error of the connection (RFC 9113 §6.9.2); nghttp2 resets the stream alone.
        let window = settings.last { $0.parameter == .initialWindowSize }.map { Int($0.value) } ?? receiving.initialSendWindow
        if receiving.largestSendWindow + window - receiving.initialSendWindow > Int(Int32.max) {
            return end(.windowUpdate, .flowControlError)
        }
        if let limit = settings.last(where: { $0.parameter == .maxConcurrentStreams }) { serverAllows(streams: Int(limit.value)) }
    }

    func didReceiveSettingsAcknowledgement() { receiving.unacknowledgedWindow = 0 }

    func didReceive(_ violation: HTTP2Violation) { receiving.violations.append(violation) }

    /// Streams that end in order have left before that.
    func didClose(_ number: Int32, _ code: HTTP2ErrorCode) {
        if let stream = streams.find(number), !stream.awaitsReport { stream.receiveReset(code) }
    }
}
