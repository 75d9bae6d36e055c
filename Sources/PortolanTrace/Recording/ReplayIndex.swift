// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

/// The answers of a recording by their requests, and which have been given: decides which one comes next.
///
/// Requests are the same in method and URL, without fragment and user information, and in the bytes that they send, where those are known of both. Of
/// several answers to the same request each is given once, in the order of the recording, and then the last one again and again. A failure
/// is given only where there is no answer, and one that is not whole only where there is no other.
struct ReplayIndex {
    private struct Key: Hashable {
        let method: HTTPRequest.Method
        let url: String

        init(_ method: HTTPRequest.Method, _ url: URLRecord) { (self.method, self.url) = (method, url.withoutFragment.redacted) }
    }

    private let exchanges: [Exchange]
    private var places: [Key: [Int]] = [:]
    private var isGiven: [Bool]

    init(_ exchanges: [Exchange]) {
        self.exchanges = exchanges
        isGiven = Array(repeating: false, count: exchanges.count)
        for (index, exchange) in exchanges.enumerated() { places[Key(exchange.method, exchange.url), default: []].append(index) }
    }

    /// Where answers to a request stand: those of its URL, and of what is left of that in a recording without secrets.
    private func indices(_ method: HTTPRequest.Method, _ url: URLRecord) -> [Int] {
        let keys = Set([Key(method, url), Key(method, Redaction().url(url))])
        return keys.flatMap { places[$0] ?? [] }.sorted()
    }

    /// Whether what a request sends decides which answer it gets.
    func comparesBody(of request: Request) -> Bool {
        let hasUnknownLength = request.body != nil && request.body?.length == nil
        return indices(request.method, request.url).contains { index in
            let recorded = exchanges[index]
            return recorded.body != nil || recorded.bodyDigest != nil || (hasUnknownLength && recorded.bodyLength != nil)
        }
    }

    /// - Parameter wholeOnly: an answer that is not whole is none, nor is a failure, which may have passed.
    mutating func take(_ request: Request, _ sent: SentBody, wholeOnly: Bool) -> Exchange? {
        let same = same(request.method, request.url, request.fields, sent)
        let whole = same.filter { exchanges[$0].gap == nil }
        let answered = whole.filter { exchanges[$0].failure == nil }
        let candidates = wholeOnly || !answered.isEmpty ? answered : whole.isEmpty ? same : whole
        guard let index = candidates.first(where: { !isGiven[$0] }) ?? candidates.last else { return nil }
        isGiven[index] = true
        return exchanges[index]
    }

    /// Whether it is known already that the request fails.
    func hasFailure(like exchange: Exchange) -> Bool {
        exchange.failure != nil && same(as: exchange).contains { $0.failure != nil }
    }

    /// Whether the request has a whole answer.
    func hasAnswer(like exchange: Exchange) -> Bool {
        same(as: exchange).contains { $0.gap == nil && $0.failure == nil }
    }

    /// Whether something is recorded of the request.
    func hasAny(like exchange: Exchange) -> Bool { !same(as: exchange).isEmpty }

    private func same(as exchange: Exchange) -> [Exchange] {
        let sent: SentBody =
            if let bytes = exchange.body {
                .bytes(bytes)
            } else if let digest = exchange.bodyDigest {
                .large(length: exchange.bodyLength ?? 0, digest)
            } else if exchange.bodyLength == 0 {
                .bytes([])
            } else {
                .unread(length: exchange.bodyLength)
            }
        return same(exchange.method, exchange.url, exchange.fields, sent).map { exchanges[$0] }
    }

    /// In their order.
    private func same(_ method: HTTPRequest.Method, _ url: URLRecord, _ fields: HTTPFields, _ sent: SentBody) -> [Int] {
        let found = indices(method, url)
        guard case .bytes(let bytes) = sent else { return found.filter { Self.isSame(exchanges[$0], sent) } }
        let hasDigests = found.contains { exchanges[$0].body == nil && exchanges[$0].bodyDigest != nil }
        // As it is, and as a recording without secrets has it.
        var forms = [bytes]
        if hasDigests || found.contains(where: { exchanges[$0].body != nil }) {
            let redacted = Redaction().sentBody(bytes, of: fields)
            if redacted != bytes { forms.append(redacted) }
        }
        let digests = hasDigests ? forms.map(SHA256.digest(of:)) : []
        return found.filter { index in
            let recorded = exchanges[index]
            if let body = recorded.body { return forms.contains(body) }
            if let digest = recorded.bodyDigest { return digests.contains(digest) }
            return Self.isSame(recorded, sent)
        }
    }

    private static func isSame(_ recorded: Exchange, _ sent: SentBody) -> Bool {
        switch sent {
        case .large(_, let digest) where recorded.bodyDigest != nil: recorded.bodyDigest == digest
        // The length alone decides where the bytes of one of them are not known.
        case .bytes(let bytes): recorded.mayHaveLength(Int64(bytes.count))
        case .large(let length, _): recorded.body == nil && recorded.mayHaveLength(length)
        case .unread(let length?): recorded.mayHaveLength(length)
        case .unread(nil): true
        }
    }

    /// That there is no answer, and what comes near the request.
    func absence(of request: Request) -> LoadError {
        var message = "the recording has no answer to \(request.method.rawValue) \(request.url.shortDescription)"
        if !indices(request.method, request.url).isEmpty {
            message += " with this body; the same request with another one is in it"
        } else {
            var near: [(key: Key, common: Int)] = []
            for (key, indices) in places {
                guard let first = indices.first, let common = Self.nearness(exchanges[first].url, request.url) else { continue }
                near.append((key, common))
            }
            near.sort { ($1.common, $0.key.url, $0.key.method.rawValue) < ($0.common, $1.key.url, $1.key.method.rawValue) }
            let names = near.prefix(3).compactMap { key, _ in
                places[key]?.first.map { "\(key.method.rawValue) \(exchanges[$0].url.shortDescription)" }
            }
            message += names.isEmpty ? ", nor to anything near it; it has \(exchanges.count)" : "; it has \(names.joined(separator: ", "))"
        }
        return LoadError(.notFound, message: message)
    }

    /// How many bytes the URLs begin with in common; `nil` where they lead to different hosts, or have none and little in common.
    private static func nearness(_ url: URLRecord, _ wanted: URLRecord) -> Int? {
        let (url, wanted) = (url.withoutCredentials, wanted.withoutCredentials)
        guard url.beforePath == wanted.beforePath else { return nil }
        let common = zip(url.description.utf8, wanted.description.utf8).prefix { $0 == $1 }.count
        return url.host == nil && common < url.beforePath.utf8.count + 8 ? nil : common
    }
}

extension Exchange {
    /// Whether a body of this length may have been sent. A body that is recorded without its secrets may have had another length.
    fileprivate func mayHaveLength(_ length: Int64) -> Bool {
        guard let bodyLength, bodyLength != length else { return true }
        return length > 0 && body.map { String(decoding: $0, as: UTF8.self).contains(Redaction.marker) } ?? false
    }
}
