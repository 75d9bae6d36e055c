// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanJSON

/// Reads transactions from the events of loads. Ignores events that describe only the transport (steps, metrics,
/// challenges, nested loads), and events that this release does not know.
extension EventTrace {
    static func transactions(in document: ErrorLocation) throws(ErrorLocation.Problem) -> ReadEntries {
        var entries = ReadEntries()
        for load in try document.required("loads").elements() {
            entries.read { () throws(ErrorLocation.Problem) in
                // `try?` because replay does not use the time of day.
                let began = (try? load["began"]?.text()).flatMap { Double(timestamp: $0) } ?? 0
                var reading = LoadReading(began: began)
                for event in try load.required("events").elements() { try reading.read(event) }
                return try reading.end(losing: try load["lostEvents"]?.count() ?? 0)
            }
        }
        return entries
    }
}

/// Builds the transactions of one load from its events.
private struct LoadReading {
    /// The start of the load in seconds since 1970.
    let began: Double
    private var transactions: [Transaction] = []
    private var current: Transaction?
    /// The start of the current transaction, relative to the start of the load.
    private var start = Duration.zero
    private var hasResponse = false
    private var hasTrailers = false
    /// The number of body bytes that the current transaction has.
    private var byteCount = 0
    /// The request after a redirect, until another event shows that the loader made that request. `start` is relative
    /// to the start of the load.
    private var successor: (method: HTTPRequest.Method, url: URLRecord, bodyLength: Int64?, start: Duration)?

    init(began: Double) { self.began = began }

    mutating func read(_ event: ErrorLocation) throws(ErrorLocation.Problem) {
        let time = try event["time"]?.milliseconds() ?? .zero
        let name = try event.required("event")
        switch try name.text() {
        case "started": try begin(event, at: time)
        case "redirect": try readRedirect(event, at: time)
        case "interim": try readInterim(event, at: time)
        case "response": try readResponse(event, at: time)
        case "data": try readData(event, at: time)
        case "trailers": try readTrailers(event, at: time)
        case "finished": try end(.finished, event, at: time)
        case "failed", "retry":
            // A load that failed before its start, for example because of an invalid URL, is no transaction.
            if current != nil || successor != nil { try end(try failure(event), event, at: time) }
        default: break
        }
    }

    /// - Parameter lostEventCount: the number of events that are missing at the end.
    mutating func end(losing lostEventCount: Int) throws(ErrorLocation.Problem) -> [Transaction] {
        if lostEventCount > 0, let last = transactions.indices.last, current == nil { current = transactions.remove(at: last) }
        if var transaction = current {
            let reason = lostEventCount > 0 ? "the recording lacks \(lostEventCount) events" : "its end is missing"
            transaction.append(.interrupted(reason), at: transaction.end)
            transactions.append(transaction)
        }
        return transactions
    }

    private mutating func begin(_ event: ErrorLocation, at time: Duration) throws(ErrorLocation.Problem) {
        if let unfinishedTransaction = current { transactions.append(unfinishedTransaction) }
        let methodMember = try event.required("method")
        guard let method = HTTPRequest.Method(try methodMember.text()) else { throw methodMember.problem("is not a method") }
        var transaction = Transaction(method, try event.required("url").url(), began: began + time / .seconds(1))
        transaction.bodyLength = try event["bodyBytes"]?.count().map(Int64.init)
        if let body = event["body"] { transaction.setBody(.bytes(try body.base64())) }
        if let digest = event["bodySHA256"] { transaction.setBody(try digest.largeBody(of: event["bodyBytes"])) }
        begin(transaction, at: time)
    }

    private mutating func begin(_ transaction: Transaction, at time: Duration) {
        (current, start, hasResponse, hasTrailers, byteCount, successor) = (transaction, time, false, false, 0, nil)
    }

    /// Begins the transaction after a redirect, if the event is its first.
    ///
    /// - Throws: a problem if the event belongs to no transaction.
    private mutating func open(for event: ErrorLocation) throws(ErrorLocation.Problem) {
        if let (method, url, bodyLength, start) = successor {
            var transaction = Transaction(method, url, began: began + start / .seconds(1))
            transaction.bodyLength = bodyLength
            begin(transaction, at: start)
        }
        guard current != nil else { throw event.problem("comes before a load begins, or after its end") }
    }

    private mutating func append(
        _ transactionEvent: Transaction.Event, _ event: ErrorLocation, at time: Duration
    ) throws(ErrorLocation.Problem) {
        try open(for: event)
        current?.append(transactionEvent, at: max(.zero, time - start))
    }

    private mutating func end(
        _ transactionEvent: Transaction.Event, _ event: ErrorLocation, at time: Duration
    ) throws(ErrorLocation.Problem) {
        try open(for: event)
        if case .finished = transactionEvent, !hasResponse { throw event.problem("ends a load that has no response") }
        try append(transactionEvent, event, at: time)
        if let finishedTransaction = current.take() { transactions.append(finishedTransaction) }
    }

    private mutating func readRedirect(_ event: ErrorLocation, at time: Duration) throws(ErrorLocation.Problem) {
        try open(for: event)
        guard var transaction = current, !hasResponse else { throw event.problem("comes after the response") }
        let target = try event.required("url").url()
        let response = try head(event)
        transaction.append(.redirect(to: target, response), at: max(.zero, time - start))
        transactions.append(transaction)
        let nextRequest = Request(url: transaction.url, method: transaction.method).redirected(to: target, status: response.status)
        // A redirect that changes the method to GET sends no body.
        let bodyLength = nextRequest.method == transaction.method ? transaction.bodyLength : 0
        (current, successor) = (nil, (nextRequest.method, target, bodyLength, time))
    }

    private mutating func readInterim(_ event: ErrorLocation, at time: Duration) throws(ErrorLocation.Problem) {
        try open(for: event)
        guard !hasResponse else { throw event.problem("comes after the response") }
        try append(.interim(try head(event)), event, at: time)
    }

    private mutating func readTrailers(_ event: ErrorLocation, at time: Duration) throws(ErrorLocation.Problem) {
        try openBody(for: event)
        hasTrailers = true
        try append(.trailers(try event.listedFields()), event, at: time)
    }

    /// Like ``open(for:)``, for events that are allowed only after a response and before the trailers.
    private mutating func openBody(for event: ErrorLocation) throws(ErrorLocation.Problem) {
        try open(for: event)
        guard hasResponse else { throw event.problem("comes before the response") }
        guard !hasTrailers else { throw event.problem("comes after the trailers") }
    }

    private mutating func readResponse(_ event: ErrorLocation, at time: Duration) throws(ErrorLocation.Problem) {
        try open(for: event)
        guard !hasTrailers else { throw event.problem("comes after the trailers") }
        var response = try head(event)
        let mime = try event["mime"]?.text()
        response.mimeType = mime.flatMap { MIMEType(parsing: $0) }
        response.textEncodingName = try event["encoding"]?.text() ?? response.mimeType?.charset
        response.expectedLength = try event["length"]?.count().map(Int64.init)
        if let codings = event["codings"] {
            var names: [String] = []
            for coding in try codings.elements() { names.append(try coding.text()) }
            response.remainingContentCodings = names
        }
        hasResponse = true
        try append(.response(response), event, at: time)
    }

    private mutating func readData(_ event: ErrorLocation, at time: Duration) throws(ErrorLocation.Problem) {
        try openBody(for: event)
        let recordedBytes = try event["base64"]?.base64() ?? []
        let count = try event.required("bytes").count() ?? 0
        guard recordedBytes.count <= count else { throw event.problem("has more bytes than its 'bytes' member says") }
        // Both numbers are below 9e15, so the sum does not overflow.
        byteCount += count
        guard byteCount < 9_000_000_000_000_000 else { throw event.problem("makes the body 9e15 bytes or more") }
        try append(.data(recordedBytes, count: count), event, at: time)
    }

    private func failure(_ event: ErrorLocation) throws(ErrorLocation.Problem) -> Transaction.Event {
        let message = try event["message"]?.text() ?? "the load failed"
        // A failure without a code means that the caller ended the load.
        guard let code = event["code"] else { return .interrupted(message) }
        guard let error = LoadError(named: try code.text(), message: message) else { throw code.problem("is not an error code") }
        return .failed(error)
    }

    /// Reads the URL, the status and the fields of a response.
    private func head(_ event: ErrorLocation) throws(ErrorLocation.Problem) -> Response {
        guard let url = current?.url else { throw event.problem("comes before a load begins, or after its end") }
        var response = Response(url: try event["url"]?.url() ?? url)
        if try event["event"]?.text() == "redirect" { response.url = url }
        response.fields = try event.listedFields()
        if let status = event["status"], let code = try status.count() {
            guard (0...999).contains(code) else { throw status.problem("has to be a status from 0 to 999") }
            response.status = HTTPResponse.Status(code: code, reasonPhrase: try event["reason"]?.text() ?? "")
        }
        return response
    }
}

extension ErrorLocation {
    /// Reads fields from pairs of a name and a value.
    fileprivate func listedFields() throws(Problem) -> HTTPFields {
        var fields = HTTPFields()
        guard let list = self["headers"] else { return fields }
        for field in try list.elements() {
            let pair = try field.elements()
            guard pair.count == 2, let name = pair.first, let value = pair.last else { throw field.problem("has to be a name and a value") }
            let (nameText, valueText) = (try name.text(), try value.text())
            do throws(HTTPFields.InvalidField) {
                try fields.append(recorded: nameText, valueText)
            } catch {
                throw field.problem(error.rawValue)
            }
        }
        return fields
    }
}
