// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Portolan
import PortolanCache
import PortolanJSON

/// What the cache did with a request.
enum CacheResult: String, Sendable {
    /// A stored response answers the request, and is fresh.
    case hit
    /// A stored response answers the request, although it is stale.
    case stale
    /// The server has confirmed a stored response, or has completed it.
    case validated
    /// No stored response answers the request.
    case miss
}

/// What the cache did with a request, and why.
struct CacheReport: Equatable, Sendable {
    let result: CacheResult
    /// The name of the reason, for programs.
    let reason: String
    /// The reason, for people.
    let message: String
    /// The age of the stored response in seconds; `nil` unless it answers the request without the server.
    var age: Int64?
    /// The seconds until the stored response is stale; negative for a stale response. `nil` in the same cases.
    var timeToLive: Int64?
    /// Whether the response is being stored; `nil` if nothing was received that could be stored.
    var isStored: Bool?
    /// Why the response is not stored.
    var refusal: String?

    init(_ result: CacheResult, reason: String, message: String) {
        (self.result, self.reason, self.message) = (result, reason, message)
    }

    /// - Returns: `nil` if the cache was not asked for the response.
    init?(_ response: Response) {
        guard let status = response.cacheStatus, let reason = status.reason else { return nil }
        self.init(Self.result(status, response.source), reason: reason.rawValue, message: reason.text + Self.note(status))
        switch status.source {
        case .hit:
            age = response.fields[.age].flatMap { Int64($0) }
            timeToLive = status.timeToLive
        case .forward(let forward) where result == .miss:
            isStored = forward.isStored
            refusal = status.refusal
        case .forward, nil: break
        }
    }

    private static func result(_ status: CacheStatus, _ source: ResponseSource) -> CacheResult {
        switch (source, status.source) {
        case (.validated, _): .validated
        case (.cache, .hit): status.timeToLive ?? 1 > 0 ? .hit : .stale
        case (.cache, .forward): .hit
        case (.cache, nil), (.network, _): .miss
        }
    }

    private static func note(_ status: CacheStatus) -> String {
        guard case .forward(let forward) = status.source, forward.isCollapsed else { return "" }
        return ", and the response to an equal request answers this one"
    }

    /// One line for `-v`.
    var text: String {
        switch result {
        case .hit, .stale: "\(result): \(message)\(freshness.map { "; \($0)" } ?? "")"
        case .validated:
            "\(result): \(message), and the server has \(reason == CacheReason.incomplete.rawValue ? "sent the rest" : "confirmed it")"
        case .miss: "\(result): \(message)\(storage.map { "; \($0)" } ?? "")"
        }
    }

    private var freshness: String? {
        guard let age, let timeToLive else { return nil }
        let rest = Duration.text(ofSeconds: Int64(clamping: timeToLive.magnitude))
        return
            "its age is \(Duration.text(ofSeconds: age)), and it \(timeToLive > 0 ? "is fresh for \(rest) more" : "has been stale for \(rest)")"
    }

    private var storage: String? {
        isStored.map { $0 ? "the response is being stored" : "the response is not stored\(refusal.map { ": \($0)" } ?? "")" }
    }

    var json: JSONValue {
        [
            "result": .string(result.rawValue), "reason": .string(reason), "message": .string(message), "age": .count(age),
            "freshFor": .count(timeToLive), "stored": isStored.map { .bool($0) } ?? .null, "refusal": .text(refusal),
        ]
    }
}
