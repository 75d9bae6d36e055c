// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
package import PortolanJSON

/// Writes transactions as HAR 1.2, with one entry for each, including redirected ones. The status is 0 for protocols
/// without one.
///
/// The fields of a request are those from the caller. Interim responses, trailers, the pieces of a body and all
/// responses after the first are lost.
///
/// The standard permits these additional members: `_error` is the code of a failure, whose message is the entry's
/// comment. `_encoding` is `base64` for a sent body that is no text. `_codings` are the content codings that a body
/// still has. `_bodySHA256` is the digest of a body that was too large to record. `_hasStatus` means that the server
/// sent a status of 0. `_fromCache` means that the response came from the cache without a request. `_repeated` means
/// that the request was sent again after this response, so the response is never replayed.
///
/// Source: HTTP Archive 1.2 Spec (Jan Odvarko)
package enum HTTPArchive {
    /// - Parameter entries: results of ``entry(_:)``.
    package static func document(_ entries: [JSONValue]) -> JSONValue {
        [
            "log": [
                "version": "1.2", "creator": ["name": "Portolan", "version": .string(portolanVersion)], "entries": .array(entries),
            ]
        ]
    }

    package static func entry(_ transaction: Transaction) -> JSONValue {
        let transaction = transaction.withOneResponse
        let report = transaction.timings?.transfer
        let timings = ArchivedTimings(transaction)
        let version = report.map { $0.networkProtocol == "h2" ? "HTTP/2" : $0.networkProtocol.uppercased() } ?? ""
        var members: [JSONValue.Member] = [
            .init(name: "startedDateTime", value: .string(transaction.began.timestamp)),
            .init(name: "time", value: .milliseconds(timings.total)),
            .init(name: "request", value: request(transaction, version)),
            .init(name: "response", value: response(transaction, version)),
            .init(name: "cache", value: transaction.cache.map(cache) ?? .object([])),
            .init(name: "timings", value: timings.json),
        ]
        if let address = report?.remoteAddress?.split(separator: ":").dropLast().joined(separator: ":") {
            members.append(.init(name: "serverIPAddress", value: .string(address.filter { $0 != "[" && $0 != "]" })))
        }
        // As in the archives of browsers, for a response that needed no request.
        if transaction.response?.source == .cache { members.append(.init(name: "_fromCache", value: "disk")) }
        if transaction.wasRepeated { members.append(.init(name: "_repeated", value: .bool(true))) }
        switch transaction.moments.last?.event {
        case .failed(let error):
            members.append(.init(name: "_error", value: .string(error.name)))
            members.append(.init(name: "comment", value: .string(error.description)))
        case .interrupted(let reason):
            members.append(.init(name: "comment", value: .string(reason)))
        default: break
        }
        return .object(members)
    }

    /// A null member means that there was no stored response. A missing member means that this is unknown.
    private static func cache(_ cache: ArchivedCache) -> JSONValue {
        func member(_ name: String, _ state: ArchivedCache.State) -> [JSONValue.Member] {
            switch state {
            case .unknown: []
            case .absent: [.init(name: name, value: .null)]
            case .entry(let entry): [.init(name: name, value: .object(self.entry(entry)))]
            }
        }
        return .object(
            member("beforeRequest", cache.before) + member("afterRequest", cache.after)
                + [.init(name: "comment", value: .string(cache.comment))])
    }

    private static func entry(_ entry: ArchivedCache.Entry) -> [JSONValue.Member] {
        let expiry = entry.expiry.map { [JSONValue.Member(name: "expires", value: .string($0.timestamp))] } ?? []
        return expiry + [
            .init(name: "lastAccess", value: .string(entry.lastUse.timestamp)), .init(name: "eTag", value: .string(entry.entityTag)),
            .init(name: "hitCount", value: .integer(entry.useCount)),
        ]
    }

    private static func request(_ transaction: Transaction, _ version: String) -> JSONValue {
        let query = (transaction.url.query ?? "").split(separator: "&").map { pair -> JSONValue in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(PercentEncoding.decode)
            return ["name": .string(parts.first ?? ""), "value": .string(parts.count > 1 ? parts[1] : "")]
        }
        var members: [JSONValue.Member] = [
            .init(name: "method", value: .string(transaction.method.rawValue)),
            .init(name: "url", value: .string(transaction.url.withoutFragment.description)),
            .init(name: "httpVersion", value: .string(version)),
            .init(name: "cookies", value: []),
            .init(name: "headers", value: fields(FieldList(transaction.fields))),
            .init(name: "queryString", value: .array(query)),
            .init(name: "headersSize", value: .integer(-1)),
            .init(name: "bodySize", value: .integer(transaction.bodyLength ?? -1)),
        ]
        if let body = transaction.body {
            var data = [JSONValue.Member(name: "mimeType", value: .string(transaction.fields[.contentType] ?? ""))]
            data += text(body, encodingMember: "_encoding")
            members.append(.init(name: "postData", value: .object(data)))
        }
        if let digest = transaction.bodyDigest { members.append(.init(name: "_bodySHA256", value: .string(digest.text))) }
        return .object(members)
    }

    /// Returns the type with its charset, even if the response has the charset separately.
    private static func mimeType(of response: Response) -> String {
        guard let type = response.mimeType else { return "" }
        guard type.charset == nil, let charset = response.textEncodingName else { return type.description }
        return "\(type);charset=\(charset)"
    }

    private static func response(_ transaction: Transaction, _ version: String) -> JSONValue {
        let response = transaction.response
        let (body, size) = transaction.receivedBody
        var content: [JSONValue.Member] = [
            .init(name: "size", value: .integer(size)),
            .init(name: "mimeType", value: .string(response.map(mimeType) ?? "")),
        ]
        content += text(body, encodingMember: "encoding")
        if let codings = response?.remainingContentCodings, !codings.isEmpty {
            content.append(.init(name: "_codings", value: .array(codings.map(JSONValue.string))))
        }
        if body.count < size { content.append(.init(name: "comment", value: .string("the first \(body.count) bytes"))) }
        var members: [JSONValue.Member] = [
            .init(name: "status", value: .integer(response?.status?.code ?? 0)),
            .init(name: "statusText", value: .string(response?.status?.reasonPhrase ?? "")),
            .init(name: "httpVersion", value: .string(version)),
            .init(name: "cookies", value: []),
            .init(name: "headers", value: fields(response.map { FieldList(of: $0) } ?? FieldList([:]))),
            .init(name: "content", value: .object(content)),
            .init(name: "redirectURL", value: .string(transaction.redirect?.description ?? "")),
            .init(name: "headersSize", value: .integer(-1)),
            .init(name: "bodySize", value: .integer(-1)),
        ]
        if response?.status?.code == 0 { members.append(.init(name: "_hasStatus", value: .bool(true))) }
        return .object(members)
    }

    /// Writes bytes as text if they are UTF-8, otherwise as base64 with another member, whose name is `encodingMember`.
    private static func text(_ bytes: [UInt8], encodingMember: String) -> [JSONValue.Member] {
        if let text = String(validating: bytes, as: UTF8.self) { return [.init(name: "text", value: .string(text))] }
        return [
            .init(name: "text", value: .string(Data(bytes).base64EncodedString())), .init(name: encodingMember, value: "base64"),
        ]
    }

    private static func fields(_ list: FieldList) -> JSONValue {
        .array(list.pairs.map { ["name": .string($0.name), "value": .string($0.value)] })
    }
}

/// The phases of a transaction. Time outside all phases is added to the phase that had not ended
/// (``Transaction/unfinishedPhase``), so that it is part of ``total``.
private struct ArchivedTimings {
    private var blocked, dns, connect, ssl: Duration?
    private var (send, wait, receive) = (Duration.zero, Duration.zero, Duration.zero)

    init(_ transaction: Transaction) {
        if let timings = transaction.timings {
            blocked = timings.waiting?.wholeMicroseconds
            dns = timings.domainLookup?.wholeMicroseconds
            ssl = timings.tlsHandshake?.wholeMicroseconds
            if timings.connecting != nil || ssl != nil {
                connect = ((timings.connecting ?? .zero) + (timings.tlsHandshake ?? .zero)).wholeMicroseconds
            }
            send = (timings.sending ?? .zero).wholeMicroseconds
            wait = (timings.awaitingResponse ?? .zero).wholeMicroseconds
            receive = (timings.receiving ?? .zero).wholeMicroseconds
        }
        let rest = transaction.end.wholeMicroseconds - total
        if rest > .zero { add(rest, to: transaction.unfinishedPhase) }
    }

    private mutating func add(_ time: Duration, to phase: TransferPhase) {
        switch phase {
        case .queue: blocked = (blocked ?? .zero) + time
        case .name: dns = (dns ?? .zero) + time
        case .connect: connect = (connect ?? .zero) + time
        case .tls:
            ssl = (ssl ?? .zero) + time
            connect = (connect ?? .zero) + time
        case .send: send += time
        case .wait: wait += time
        case .body: receive += time
        }
    }

    /// The sum of the phases. ``connect`` includes ``ssl``.
    var total: Duration { (blocked ?? .zero) + (dns ?? .zero) + (connect ?? .zero) + send + wait + receive }

    /// The phases in milliseconds; -1 for a phase that did not happen.
    var json: JSONValue {
        func time(_ duration: Duration?) -> JSONValue { duration.map { .milliseconds($0) } ?? .integer(-1) }
        return [
            "blocked": time(blocked), "dns": time(dns), "connect": time(connect), "ssl": time(ssl), "send": time(send), "wait": time(wait),
            "receive": time(receive),
        ]
    }
}

extension Duration {
    /// The duration as it is written, so that sums of written durations are exact.
    fileprivate var wholeMicroseconds: Duration {
        let (seconds, attoseconds) = components
        return .seconds(seconds) + .microseconds(attoseconds / 1_000_000_000_000)
    }
}

extension Transaction {
    /// The transaction as far as an entry can represent it. Of several responses, which are the parts of a multipart
    /// body, it has only the first.
    fileprivate var withOneResponse: Transaction {
        let responseIndices = moments.indices.filter { if case .response = moments[$0].event { true } else { false } }
        guard responseIndices.count > 1 else { return self }
        var transaction = self
        transaction.moments.removeSubrange(responseIndices[1]...)
        transaction.append(
            .interrupted("it has \(responseIndices.count) responses, and an HTTP Archive can hold only one; record it as .json"), at: end)
        return transaction
    }
}
