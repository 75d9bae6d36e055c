// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

/// Selects recorded responses by request, and tracks which were used.
///
/// Two requests are the same if they have the same method, the same URL without fragment and user information, and the
/// same body if both bodies are known. Several responses to the same request are used once each in recorded order; then
/// the last one repeats. A failure is used only if there is no response, and an incomplete response only if there is no
/// other.
struct ReplayIndex {
    private struct Key: Hashable {
        let method: HTTPRequest.Method
        let url: String

        init(_ method: HTTPRequest.Method, _ url: URLRecord) { (self.method, self.url) = (method, url.withoutFragment.description) }
    }

    private let transactions: [Transaction]
    private var places: [Key: [Int]] = [:]
    private var isUsed: [Bool]

    init(_ transactions: [Transaction]) {
        self.transactions = transactions
        isUsed = Array(repeating: false, count: transactions.count)
        for (index, transaction) in transactions.enumerated() {
            places[Key(transaction.method, transaction.url), default: []].append(index)
        }
    }

    /// Returns the indices of responses to a request, for its URL and for the URL in redacted form.
    private func indices(_ method: HTTPRequest.Method, _ url: URLRecord) -> [Int] {
        let keys = Set([Key(method, url), Key(method, Redaction().url(url))])
        return keys.flatMap { places[$0] ?? [] }.sorted()
    }

    /// Whether the response depends on the request's body.
    func comparesBody(of request: Request) -> Bool {
        let hasUnknownLength = request.body != nil && request.body?.length == nil
        return indices(request.method, request.url).contains { index in
            let recorded = transactions[index]
            return recorded.body != nil || recorded.bodyDigest != nil || (hasUnknownLength && recorded.bodyLength != nil)
        }
    }

    /// - Parameter wholeOnly: whether to ignore incomplete responses, and failures, which may not occur again.
    mutating func take(_ request: Request, _ sent: SentBody, wholeOnly: Bool) -> Transaction? {
        let same = same(request.method, request.url, request.fields, sent)
        let whole = same.filter { transactions[$0].incompleteness == nil }
        let answered = whole.filter { transactions[$0].failure == nil }
        let candidates = wholeOnly || !answered.isEmpty ? answered : whole.isEmpty ? same : whole
        guard let index = candidates.first(where: { !isUsed[$0] }) ?? candidates.last else { return nil }
        isUsed[index] = true
        return transactions[index]
    }

    /// Whether the request is already recorded as failing.
    func hasFailure(like transaction: Transaction) -> Bool {
        transaction.failure != nil && same(as: transaction).contains { $0.failure != nil }
    }

    /// Whether the request has a complete response.
    func hasResponse(like transaction: Transaction) -> Bool {
        same(as: transaction).contains { $0.incompleteness == nil && $0.failure == nil }
    }

    /// Whether anything is recorded for the request.
    func hasAny(like transaction: Transaction) -> Bool { !same(as: transaction).isEmpty }

    private func same(as transaction: Transaction) -> [Transaction] {
        let sent: SentBody =
            if let bytes = transaction.body {
                .bytes(bytes)
            } else if let digest = transaction.bodyDigest {
                .large(length: transaction.bodyLength ?? 0, digest)
            } else if transaction.bodyLength == 0 {
                .bytes([])
            } else {
                .unread(length: transaction.bodyLength)
            }
        return same(transaction.method, transaction.url, transaction.fields, sent).map { transactions[$0] }
    }

    /// Returns the indices in ascending order.
    private func same(_ method: HTTPRequest.Method, _ url: URLRecord, _ fields: HTTPFields, _ sent: SentBody) -> [Int] {
        let found = indices(method, url)
        guard case .bytes(let bytes) = sent else { return found.filter { Self.isSame(transactions[$0], sent) } }
        let hasDigests = found.contains { transactions[$0].body == nil && transactions[$0].bodyDigest != nil }
        // The body as it is, and in redacted form.
        var forms = [bytes]
        if hasDigests || found.contains(where: { transactions[$0].body != nil }) {
            let redacted = Redaction().sentBody(bytes, of: fields)
            if redacted != bytes { forms.append(redacted) }
        }
        let digests = hasDigests ? forms.map(SHA256.digest(of:)) : []
        return found.filter { index in
            let recorded = transactions[index]
            if let body = recorded.body { return forms.contains(body) }
            if let digest = recorded.bodyDigest { return digests.contains(digest) }
            return Self.isSame(recorded, sent)
        }
    }

    private static func isSame(_ recorded: Transaction, _ sent: SentBody) -> Bool {
        switch sent {
        case .large(_, let digest) where recorded.bodyDigest != nil: recorded.bodyDigest == digest
        // If the bytes of either body are unknown, only the length is compared.
        case .bytes(let bytes): recorded.mayHaveLength(Int64(bytes.count))
        case .large(let length, _): recorded.body == nil && recorded.mayHaveLength(length)
        case .unread(let length?): recorded.mayHaveLength(length)
        case .unread(nil): true
        }
    }

    /// Returns the error for a request without a recorded response. Its message names similar requests.
    func notFoundError(of request: Request) -> LoadError {
        var message = "the recording has no response to \(request.method.rawValue) \(request.url.shortDescription)"
        if !indices(request.method, request.url).isEmpty {
            message += " with this body; it has the same request with another body"
        } else {
            var near: [(key: Key, common: Int)] = []
            for (key, indices) in places {
                guard let first = indices.first, let common = Self.commonPrefixLength(transactions[first].url, request.url) else {
                    continue
                }
                near.append((key, common))
            }
            near.sort { ($1.common, $0.key.url, $0.key.method.rawValue) < ($0.common, $1.key.url, $1.key.method.rawValue) }
            let names = near.prefix(3).compactMap { key, _ in
                places[key]?.first.map { "\(key.method.rawValue) \(transactions[$0].url.shortDescription)" }
            }
            message +=
                names.isEmpty
                ? " or to a similar request (recorded requests: \(transactions.count))" : "; it has \(names.joined(separator: ", "))"
        }
        return LoadError(.notFound, message: message)
    }

    /// Returns the length in bytes of the URLs' common prefix; `nil` if their hosts differ, or if they have no host and
    /// little in common.
    private static func commonPrefixLength(_ url: URLRecord, _ wanted: URLRecord) -> Int? {
        let (url, wanted) = (url.withoutCredentials, wanted.withoutCredentials)
        guard url.beforePath == wanted.beforePath else { return nil }
        let common = zip(url.string.utf8, wanted.string.utf8).prefix { $0 == $1 }.count
        return url.host == nil && common < url.beforePath.utf8.count + 8 ? nil : common
    }
}

extension Transaction {
    /// Whether the body may have had this length. A redacted body may have had a different length.
    fileprivate func mayHaveLength(_ length: Int64) -> Bool {
        guard let bodyLength, bodyLength != length else { return true }
        return length > 0 && body.map { String(decoding: $0, as: UTF8.self).contains(Redaction.marker) } ?? false
    }
}
