// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

/// The answers of a recording by their requests, and which have been given: decides which one comes next.
///
/// Requests are the same in method and URL, without fragment and user information, and in the bytes that they send, where those are known of both. Of
/// several answers to the same request each is given once, in the order of the recording, and then the last one again and again. A failure
/// is given only where there is no answer, and one that is not whole only where there is no other.
struct AnswerShelf {
    private struct Key: Hashable {
        let method: HTTPRequest.Method
        let url: String

        init(_ method: HTTPRequest.Method, _ url: URLRecord) { (self.method, self.url) = (method, url.withoutFragment.redacted) }
    }

    /// What a request sends.
    enum Sent: Equatable {
        case bytes([UInt8])
        /// It can be read only once, and that is for the handler behind to do.
        case unknown
    }

    private let exchanges: [Exchange]
    private var places: [Key: [Int]] = [:]
    private var isGiven: [Bool]

    init(_ exchanges: [Exchange]) {
        self.exchanges = exchanges
        isGiven = Array(repeating: false, count: exchanges.count)
        for (index, exchange) in exchanges.enumerated() { places[Key(exchange.method, exchange.url), default: []].append(index) }
    }

    /// Whether what a request sends decides which answer it gets.
    func comparesBody(of request: Request) -> Bool {
        places[Key(request.method, request.url)]?.contains { exchanges[$0].body != nil } ?? false
    }

    /// - Parameter wholeOnly: an answer that is not whole is none, nor is a failure, which may have passed.
    mutating func take(_ request: Request, _ sent: Sent, wholeOnly: Bool) -> Exchange? {
        let same = (places[Key(request.method, request.url)] ?? []).filter { Self.isSame(exchanges[$0].body, sent) }
        let whole = same.filter { exchanges[$0].gap == nil }
        let answered = whole.filter { exchanges[$0].failure == nil }
        let candidates = wholeOnly || !answered.isEmpty ? answered : whole.isEmpty ? same : whole
        guard let index = candidates.first(where: { !isGiven[$0] }) ?? candidates.last else { return nil }
        isGiven[index] = true
        return exchanges[index]
    }

    /// Whether it is known already that the request fails.
    func hasFailure(like exchange: Exchange) -> Bool {
        guard exchange.failure != nil, let same = places[Key(exchange.method, exchange.url)] else { return false }
        return same.contains { exchanges[$0].failure != nil && exchanges[$0].body == exchange.body }
    }

    private static func isSame(_ recorded: [UInt8]?, _ sent: Sent) -> Bool {
        guard let recorded, case .bytes(let bytes) = sent else { return true }
        return recorded == bytes
    }

    /// That there is no answer, and what comes near the request.
    func absence(of request: Request) -> LoadError {
        let wanted = Key(request.method, request.url)
        var message = "the recording has no answer to \(request.method.rawValue) \(request.url.shortDescription)"
        if places[wanted] != nil {
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
