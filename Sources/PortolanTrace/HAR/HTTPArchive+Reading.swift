// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanJSON

/// Reads archives of Portolan, and accepts what other programs write differently. Chromium writes the cause of a
/// failure as `_error` of the response, repeated fields as one field with line breaks, and HTTP/2 pseudo-header fields.
/// Many files have no bodies.
extension HTTPArchive {
    static func transactions(in document: ErrorLocation) throws(ErrorLocation.Problem) -> ReadEntries {
        let log = try document.required("log")
        // In other programs' archives, a comment need not be the reason of a failure, and the text need not be the
        // received bytes.
        let isFromPortolan = try log["creator"]?["name"]?.text() == "Portolan"
        var entries = ReadEntries()
        for entry in try log.required("entries").elements() {
            entries.read { () throws(ErrorLocation.Problem) in
                // The caller never received a response that led to a repeated request.
                if case .bool(true)? = entry["_repeated"]?.value { return [] }
                return [try transaction(entry, isFromPortolan: isFromPortolan)]
            }
        }
        return entries
    }

    private static func transaction(_ entry: ErrorLocation, isFromPortolan: Bool) throws(ErrorLocation.Problem) -> Transaction {
        var transaction = try request(entry, isFromPortolan: isFromPortolan)
        let responseEntry = entry["response"]
        var response = try responseEntry?.response(for: transaction.url, isFromPortolan: isFromPortolan) ?? Response(url: transaction.url)
        var end = try self.end(of: entry, isFromPortolan: isFromPortolan)
        let body = try responseEntry?.body(of: transaction.method, response, isFromPortolan: isFromPortolan) ?? ArchivedBody()
        let times = try times(of: entry)
        if case .finished = end, let incompleteness = body.incompleteness { end = .interrupted(incompleteness) }
        let isComplete = if case .finished = end { true } else { false }
        // A failed transaction without a status and body bytes has no response.
        if response.status != nil || isComplete || body.count > 0 {
            if let declaredType = body.declaredType { response.setContentType(declaredType) }
            response.setExpectedLength(bodyCount: body.bytes.count, isComplete: isComplete, hasBody: transaction.method != .head)
            if let target = try responseEntry?.redirect(from: transaction.url, response, isFromPortolan: isFromPortolan) {
                transaction.append(.redirect(to: target, response), at: times.response)
            }
            transaction.append(.response(response), at: times.response)
            transaction.appendBody(body.bytes, from: times.response, to: times.end, count: body.count)
        }
        transaction.append(end, at: times.end)
        return transaction
    }

    private static func request(_ entry: ErrorLocation, isFromPortolan: Bool) throws(ErrorLocation.Problem) -> Transaction {
        let request = try entry.required("request")
        let (methodMember, urlMember) = (try request.required("method"), try request.required("url"))
        guard let method = HTTPRequest.Method(try methodMember.text()) else { throw methodMember.problem("is not a method") }
        let began = (try? entry["startedDateTime"]?.text()).flatMap { Double(timestamp: $0) } ?? 0  // because replay does not use the time
        var transaction = Transaction(method, try urlMember.url(), began: began)
        transaction.fields = try request.fields(isFromPortolan: isFromPortolan)
        // `try?` because an invalid size only means that the body's length is unknown.
        transaction.bodyLength = (try? request["bodySize"]?.count()).map(Int64.init)
        if let digest = request["_bodySHA256"] { transaction.setBody(try digest.largeBody(of: request["bodySize"])) }
        guard let data = request["postData"] else { return transaction }
        guard let sentText = data["text"] else {
            // The request sent a body as parameters, which are not compared.
            if transaction.bodyLength == 0 { transaction.bodyLength = nil }
            return transaction
        }
        let bytes = try sentText.bytes(encoding: data["_encoding"] ?? data["encoding"])
        // A replacement character can stand for any bytes that are no text. Then the sent bytes are unknown.
        if !(try sentText.text()).contains("\u{FFFD}") { transaction.body = bytes }
        transaction.bodyLength = Int64(bytes.count)
        return transaction
    }

    /// Returns how the load ended. In Portolan's own archives, a comment without a code is the reason why the recording
    /// broke off. In other archives, a comment can be anything; it is used as the reason if the transaction has no
    /// response.
    private static func end(of entry: ErrorLocation, isFromPortolan: Bool) throws(ErrorLocation.Problem) -> Transaction.Event {
        let status = try entry["response"]?["status"]?.count() ?? 0
        let comment = try entry["comment"]?.text()
        if let name = try (entry["_error"] ?? entry["response"]?["_error"])?.text(), !name.isEmpty {
            let message = comment ?? name
            return .failed(LoadError(named: name, message: message) ?? LoadError(.init(chromium: name), message: message))
        }
        if isFromPortolan { return comment.map { .interrupted($0) } ?? .finished }
        let url = try entry["request"]?["url"]?.text() ?? ""
        guard status == 0, comment != nil || url.lowercased().hasPrefix("http") else { return .finished }
        return .failed(LoadError(.connectionLost, message: comment ?? "the recording has no response, and no reason why"))
    }

    /// Returns the times of the response and of the end, relative to the start of the transaction.
    private static func times(of entry: ErrorLocation) throws(ErrorLocation.Problem) -> (response: Duration, end: Duration) {
        let total = try entry["time"]?.milliseconds() ?? .zero
        guard let timings = entry["timings"] else { return (total, total) }
        var untilResponse = Duration.zero
        // `connect` includes the TLS handshake.
        for phase in ["blocked", "dns", "connect", "send", "wait"] { untilResponse += try timings[phase]?.milliseconds() ?? .zero }
        return (untilResponse, max(total, untilResponse + (try timings["receive"]?.milliseconds() ?? .zero)))
    }
}

extension LoadError.Code {
    /// Maps a Chromium error (`net_error_list.h`) to a code.
    fileprivate init(chromium name: String) {
        let codes: [(part: String, code: Self)] = [
            ("NAME_NOT_RESOLVED", .nameNotFound), ("NAME_RESOLUTION", .nameNotFound), ("TIMED_OUT", .timedOut), ("ABORTED", .cancelled),
            ("ERR_CERT_", .certificateNotTrusted), ("SSL_", .secureConnectionFailed), ("TOO_MANY_REDIRECTS", .tooManyRedirects),
            ("CONTENT_DECODING", .decodingFailed), ("CONTENT_LENGTH_MISMATCH", .truncated), ("INCOMPLETE_CHUNKED", .truncated),
            ("CONNECTION_REFUSED", .cannotConnect), ("CONNECTION_FAILED", .cannotConnect), ("ADDRESS_", .cannotConnect),
            ("INTERNET_DISCONNECTED", .cannotConnect), ("SOCKS_", .socksFailed), ("TUNNEL_", .tunnelFailed),
            ("PROXY_AUTH", .tunnelFailed), ("PROXY_", .cannotConnect),
            ("INVALID_RESPONSE", .badResponse), ("INVALID_HTTP", .badResponse), ("EMPTY_RESPONSE", .emptyResponse),
            ("FILE_NOT_FOUND", .notFound), ("ACCESS_DENIED", .accessDenied), ("UNKNOWN_URL_SCHEME", .unsupportedScheme),
        ]
        self = codes.first { name.contains($0.part) }?.code ?? .connectionLost
    }
}
