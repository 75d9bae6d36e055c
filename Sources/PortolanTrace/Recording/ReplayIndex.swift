// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

/// Selects recorded responses by request, and tracks which were used.
///
/// Two requests are the same if they have the same method, the same URL without fragment and user information, and the
/// same body if both bodies are known. Several responses to the same request are used once each, in recorded order.
/// After that, the last response is used again and again. A failure is used only if there is no complete response. An
/// incomplete response is used only if there is neither a complete response nor a failure.
struct ReplayIndex {
    private struct Key: Hashable {
        let method: HTTPRequest.Method
        let url: String

        init(_ method: HTTPRequest.Method, _ url: URLRecord) { (self.method, self.url) = (method, url.withoutFragment.description) }
    }

    private let transactions: [Transaction]
    /// The indices of the transactions with each method and URL.
    private var indicesByKey: [Key: [Int]] = [:]
    /// Whether each transaction was used before.
    private var isUsed: [Bool]

    init(_ transactions: [Transaction]) {
        self.transactions = transactions
        isUsed = Array(repeating: false, count: transactions.count)
        for (index, transaction) in transactions.enumerated() {
            indicesByKey[Key(transaction.method, transaction.url), default: []].append(index)
        }
    }

    /// Returns the indices of responses to a request, for its URL and for the URL in redacted form.
    private func indices(_ method: HTTPRequest.Method, _ url: URLRecord) -> [Int] {
        let keys = Set([Key(method, url), Key(method, Redaction().url(url))])
        return keys.flatMap { indicesByKey[$0] ?? [] }.sorted()
    }

    /// Whether the response depends on the request's body.
    func comparesBody(of request: Request) -> Bool {
        let hasUnknownLength = request.body != nil && request.body?.length == nil
        return indices(request.method, request.url).contains { index in
            let recorded = transactions[index]
            return recorded.body != nil || recorded.bodyDigest != nil || (hasUnknownLength && recorded.bodyLength != nil)
        }
    }

    /// Selects the transaction to replay for a request, and marks it as used.
    ///
    /// - Parameter completeOnly: whether to use only complete responses. Incomplete responses and failures are then
    ///   ignored, because a new load may succeed.
    mutating func useTransaction(for request: Request, _ sent: SentBody, completeOnly: Bool) -> Transaction? {
        let matches = matchingIndices(request.method, request.url, request.fields, sent)
        let completeMatches = matches.filter { transactions[$0].incompleteness == nil }
        let responses = completeMatches.filter { transactions[$0].failure == nil }
        let candidates = completeOnly || !responses.isEmpty ? responses : completeMatches.isEmpty ? matches : completeMatches
        guard let index = candidates.first(where: { !isUsed[$0] }) ?? candidates.last else { return nil }
        isUsed[index] = true
        return transactions[index]
    }

    /// Whether the transaction failed, and a failure is recorded for the same request.
    func hasFailure(like transaction: Transaction) -> Bool {
        transaction.failure != nil && matches(of: transaction).contains { $0.failure != nil }
    }

    /// Whether a complete response is recorded for the same request.
    func hasResponse(like transaction: Transaction) -> Bool {
        matches(of: transaction).contains { $0.incompleteness == nil && $0.failure == nil }
    }

    /// Whether anything is recorded for the same request.
    func hasAny(like transaction: Transaction) -> Bool { !matches(of: transaction).isEmpty }

    /// Returns the recorded transactions with the same request.
    private func matches(of transaction: Transaction) -> [Transaction] {
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
        return matchingIndices(transaction.method, transaction.url, transaction.fields, sent).map { transactions[$0] }
    }

    /// Returns the indices of the transactions with the same request, in ascending order.
    private func matchingIndices(_ method: HTTPRequest.Method, _ url: URLRecord, _ fields: HTTPFields, _ sent: SentBody) -> [Int] {
        let candidates = indices(method, url)
        guard case .bytes(let bytes) = sent else { return candidates.filter { Self.isSame(transactions[$0], sent) } }
        let hasDigests = candidates.contains { transactions[$0].body == nil && transactions[$0].bodyDigest != nil }
        // The body unchanged, and in redacted form.
        var forms = [bytes]
        if hasDigests || candidates.contains(where: { transactions[$0].body != nil }) {
            let redacted = Redaction().sentBody(bytes, of: fields)
            if redacted != bytes { forms.append(redacted) }
        }
        let digests = hasDigests ? forms.map(SHA256.digest(of:)) : []
        return candidates.filter { index in
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
            var similarRequests: [(key: Key, commonLength: Int)] = []
            for (key, indices) in indicesByKey {
                guard let first = indices.first, let commonLength = Self.commonPrefixLength(transactions[first].url, request.url) else {
                    continue
                }
                similarRequests.append((key, commonLength))
            }
            similarRequests.sort {
                ($1.commonLength, $0.key.url, $0.key.method.rawValue) < ($0.commonLength, $1.key.url, $1.key.method.rawValue)
            }
            let names = similarRequests.prefix(3).compactMap { key, _ in
                indicesByKey[key]?.first.map { "\(key.method.rawValue) \(transactions[$0].url.shortDescription)" }
            }
            message +=
                names.isEmpty
                ? " or to a similar request (recorded requests: \(transactions.count))" : "; it has \(names.joined(separator: ", "))"
        }
        return LoadError(.notFound, message: message)
    }

    /// Returns the length in bytes of the URLs' common prefix; `nil` if their hosts differ, or if they have no host and
    /// little in common.
    private static func commonPrefixLength(_ url: URLRecord, _ requestedURL: URLRecord) -> Int? {
        let (url, requestedURL) = (url.withoutCredentials, requestedURL.withoutCredentials)
        guard url.schemeAndAuthority == requestedURL.schemeAndAuthority else { return nil }
        let common = zip(url.string.utf8, requestedURL.string.utf8).prefix { $0 == $1 }.count
        return url.host == nil && common < url.schemeAndAuthority.utf8.count + 8 ? nil : common
    }
}

extension Transaction {
    /// Whether the body may have had this length. A redacted body may have had a different length.
    fileprivate func mayHaveLength(_ length: Int64) -> Bool {
        guard let bodyLength, bodyLength != length else { return true }
        return length > 0 && body.map { String(decoding: $0, as: UTF8.self).contains(Redaction.marker) } ?? false
    }
}
