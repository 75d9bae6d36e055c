// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore
import PortolanTrace

/// One row of the waterfall: a request, or a load nested in one. Values that nobody recorded are `nil`.
struct WaterfallRow: Sendable {
    enum Phase: String, CaseIterable, Sendable {
        case queue, name, connect, tls, send, wait, body, nested
    }

    struct Bar: Equatable, Sendable {
        let phase: Phase
        /// `start` is relative to the start of the page's first load.
        let start, length: Duration
    }

    var method, url: String
    /// 0 for a request of the command's own load; 1 for a load nested in it; and so on.
    var depth = 0
    /// Relative to the start of the page's first load.
    var start: Duration
    var bars: [Bar] = []
    /// For example `200`, `302`, `failed`, `incomplete`. `finished` for a nested load, whose status is unknown.
    var status: String?
    /// The message of the error, or the reason why the end was not recorded; `nil` without a failure.
    var failure: String?
    /// A remark on the request, for example `The request was sent again after this response.`
    var note: String?
    var mimeType: String?
    /// The ALPN identifier of the protocol, for example `h2`.
    var networkProtocol: String?
    /// For example `new connection to 127.0.0.1:443, TLSv1.3 resumed`.
    var connection: String?
    /// The bytes of the body as the caller receives them, after decoding.
    var bodyBytes: Int64?
    var requestFields: [FieldList.Pair] = []
    /// How many fields of the request were removed because they can contain secrets.
    private(set) var hiddenRequestFieldCount = 0
    /// The heads of all responses in order, including interim responses, and the trailers.
    var heads: [MessageHead] = []
    var events: [Event] = []
    var throughput = Throughput([])

    struct MessageHead: Sendable {
        let title: String
        let fields: [FieldList.Pair]
        var hiddenFieldCount = 0
    }

    /// Counts the fields that the redaction removed.
    ///
    /// - Parameter complete: The same row without redaction.
    mutating func countHiddenFields(of complete: WaterfallRow) {
        hiddenRequestFieldCount = complete.requestFields.count - requestFields.count
        for (index, head) in complete.heads.enumerated() where heads.indices.contains(index) {
            heads[index].hiddenFieldCount = head.fields.count - heads[index].fields.count
        }
    }

    /// An event, or several consecutive pieces of the body.
    struct Event: Equatable, Sendable {
        /// Relative to the start of the row.
        let time: Duration
        let text: String
    }

    /// Adds events, each after those of the same time.
    mutating func add(_ added: [Event]) {
        for event in added { events.insert(event, at: events.firstIndex { $0.time > event.time } ?? events.count) }
    }

    var end: Duration { bars.last.map { $0.start + $0.length } ?? start }
    var duration: Duration { end - start }
    var isFailure: Bool { failure != nil }
}

extension WaterfallRow {
    /// - Parameter origin: The start of the page's first load, in seconds since 1970.
    init(_ transaction: Transaction, since origin: Double) {
        let start = Duration.seconds(max(0, transaction.began - origin))
        self.init(method: transaction.method.rawValue, url: transaction.url.description, start: start)
        bars = Self.bars(of: transaction, from: start)
        status = transaction.response?.status.map { "\($0.code)" }
        mimeType = transaction.response?.mimeType.map { "\($0.type)/\($0.subtype)" }
        if let report = transaction.timings?.transfer {
            networkProtocol = report.networkProtocol
            connection = Self.phrase(report)
        }
        bodyBytes = transaction.response == nil ? nil : Int64(clamping: transaction.receivedBody.count)
        requestFields = FieldList(transaction.fields).pairs
        note =
            transaction.wasRepeated
            ? "The request was sent again after this response." : transaction.redirect.map { "Redirect to \($0)" }
        var fold = EventFold()
        var hasEnded = false
        for moment in transaction.moments {
            switch moment.event {
            case .interim(let response):
                heads.append(MessageHead(title: Self.title(response), fields: FieldList(response.fields).pairs))
                fold.add("interim response \(response.status?.code ?? 0)", at: moment.time)
            case .response(let response):
                heads.append(MessageHead(title: Self.title(response), fields: FieldList(of: response).pairs))
                fold.add("response", at: moment.time)
            case .redirect(_, let response):
                heads.append(MessageHead(title: Self.title(response), fields: FieldList(of: response).pairs))
                fold.add("redirect", at: moment.time)
            case .data(_, let count): fold.add(piece: count, at: moment.time)
            case .trailers(let fields):
                heads.append(MessageHead(title: "Trailers", fields: FieldList(fields).pairs))
                fold.add("trailers", at: moment.time)
            case .finished:
                hasEnded = true
                fold.add("finished", at: moment.time)
            case .failed(let error):
                (failure, hasEnded) = (error.description, true)
                status = status ?? "failed"
                fold.add("failed: \(error.name)", at: moment.time)
            case .interrupted(let reason) where hasEnded: note = "The record of this request is incomplete: \(reason)"
            case .interrupted(let reason):
                failure = reason
                status = status ?? "incomplete"
                fold.add("not recorded to its end", at: moment.time)
            }
        }
        events = fold.events
        throughput = Throughput(
            transaction.moments.compactMap { moment in
                if case .data(_, let count) = moment.event { (moment.time, Int64(clamping: count)) } else { nil }
            })
    }

    /// Makes the row of a load that is nested in one of the command's loads.
    init(
        _ inner: NestedLoadReport, handler: String?, from start: Duration, to end: Duration?, bytes: Int64?, error: LoadError?
    ) {
        self.init(method: inner.method.rawValue, url: inner.url.description, depth: inner.depth, start: start)
        bars = [Bar(phase: .nested, start: start, length: max(.zero, (end ?? start) - start))]
        bodyBytes = bytes
        connection = handler.map { "nested load, handler \($0)" } ?? "nested load, no handler"
        status = error != nil ? "failed" : end != nil ? "finished" : "incomplete"
        failure = error?.description
        if end == nil { note = "The end of this load was not recorded." }
    }

    /// Returns the phases of the transfer. If the load used no network, they are the time before the response and the
    /// time after it.
    private static func bars(of transaction: Transaction, from start: Duration) -> [Bar] {
        var bars: [Bar] = []
        var time = start
        func add(_ phase: Phase, _ length: Duration?) {
            guard let length, length >= .zero else { return }
            bars.append(Bar(phase: phase, start: time, length: length))
            time += length
        }
        let end = start + transaction.end
        guard let timings = transaction.timings else {
            let response = transaction.moments.first { if case .response = $0.event { true } else { false } }?.time
            add(response == nil ? Phase(transaction.unfinishedPhase) : .wait, response ?? transaction.end)
            if response != nil { add(.body, end - time) }
            return bars
        }
        add(.queue, timings.waiting)
        add(.name, timings.domainLookup)
        add(.connect, timings.connecting)
        add(.tls, timings.tlsHandshake)
        add(.send, timings.sending)
        add(.wait, timings.awaitingResponse)
        add(.body, timings.receiving)
        // The load ended within a phase.
        if timings.receiving == nil, end > time { add(Phase(transaction.unfinishedPhase), end - time) }
        return bars
    }

    private static func title(_ response: Response) -> String {
        guard let status = response.status else { return "Response without a status" }
        return "\(status.code) \(status.reasonPhrase)"
    }

    private static func phrase(_ report: TransferReport) -> String {
        let tls = report.tlsVersion.map { report.isTLSResumed ? "\($0) resumed" : $0 }
        let proxyTLS = report.proxyTLSVersion.map { " (\($0)\(report.isProxyTLSResumed ? " resumed" : ""))" } ?? ""
        let address = report.remoteAddress.map { " to \($0)" } ?? ""
        let parts: [String?] = [
            (report.isReused ? "reused connection" : "new connection") + address, tls, report.proxy.map { "proxy \($0)\(proxyTLS)" },
            "\(report.bytesSent) bytes sent", "\(report.bytesReceived) bytes received",
        ]
        return parts.compactMap(\.self).joined(separator: ", ")
    }
}

/// Combines consecutive pieces of a body into one event.
private struct EventFold {
    private var finishedEvents: [WaterfallRow.Event] = []
    private var run: (start: Duration, end: Duration, pieces: Int, bytes: Int64)?

    mutating func add(_ text: String, at time: Duration) {
        close()
        finishedEvents.append(WaterfallRow.Event(time: time, text: text))
    }

    mutating func add(piece count: Int, at time: Duration) {
        let count = Int64(clamping: count)
        if let run {
            self.run = (run.start, time, run.pieces + 1, run.bytes.addingReportingOverflow(count).overflow ? .max : run.bytes + count)
        } else {
            run = (time, time, 1, count)
        }
    }

    private mutating func close() {
        guard let run else { return }
        let pieces = run.pieces == 1 ? "data" : "data in \(run.pieces) pieces, until \(run.end.milliseconds) ms"
        finishedEvents.append(WaterfallRow.Event(time: run.start, text: "\(pieces), \(run.bytes) bytes"))
        self.run = nil
    }

    var events: [WaterfallRow.Event] {
        var fold = self
        fold.close()
        return fold.finishedEvents
    }
}

extension WaterfallRow.Phase {
    fileprivate init(_ phase: TransferPhase) {
        self =
            switch phase {
            case .queue: .queue
            case .name: .name
            case .connect: .connect
            case .tls: .tls
            case .send: .send
            case .wait: .wait
            case .body: .body
            }
    }
}
