// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import PortolanCore
import PortolanURL
import Synchronization

@testable import PortolanCache

/// A server for the tests of the cache: delivers the events that a closure returns for each request, and records the
/// requests.
final class OriginHandler: ProtocolHandler {
    let identifier = "test.origin"
    let schemes: SchemeSet
    let traits: HandlerTraits
    private let answer: @Sendable (_ request: Request, _ number: Int) -> [ScriptedLoad.Event]
    private let log = Mutex<[Request]>([])

    init(
        schemes: [String] = ["http", "https"], _ answer: @escaping @Sendable (_ request: Request, _ number: Int) -> [ScriptedLoad.Event]
    ) {
        (self.schemes, self.answer) = (.only(schemes), answer)
        let common: HandlerTraits = [.cacheable, .cookies, .stopsAsynchronously]
        traits = schemes == ["http", "https"] ? common.union(.httpFields) : common
    }

    var requests: [Request] { log.withLock { $0 } }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        let number = log.withLock { log in
            log.append(request)
            return log.count
        }
        return ScriptedLoad(answer(request, number), client: client)
    }
}

/// The events of a response, from its fields as lines.
func exchange(_ request: Request, _ status: Int = 200, _ lines: String..., body: String = "") -> [ScriptedLoad.Event] {
    var response = Response(url: request.url, expectedLength: Int64(body.utf8.count), status: HTTPResponse.Status(code: status))
    for line in lines {
        let parts = line.split(separator: ":", maxSplits: 1)
        if let name = HTTPField.Name(String(parts[0])) {
            response.fields.append(HTTPField(name: name, value: parts[1].trimmingPrefix(" ").description))
        }
    }
    if let next = request.redirected(by: response) {
        return [.redirect(to: next, response), .response(response), .data(Array(body.utf8)), .finish]
    }
    let hasBody = request.method != .head && status != 304
    return [.response(response)] + (hasBody && !body.isEmpty ? [.data(Array(body.utf8))] : []) + [.finish]
}

/// A server that knows ranges: the digits from 0 to 9.
func rangesExchange(_ request: Request) -> [ScriptedLoad.Event] {
    let body = "0123456789"
    guard let range = request.fields[.range]?.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false), range.count == 2,
        let first = Int(range[0])
    else { return exchange(request, 200, "Cache-Control: max-age=60", "ETag: \"x\"", body: body) }
    let last = Int(range[1]) ?? 9
    return exchange(
        request, 206, "Cache-Control: max-age=60", "ETag: \"x\"", "Content-Range: bytes \(first)-\(last)/10",
        body: String(body.dropFirst(first).prefix(last - first + 1)))
}

/// A loader with a cache, whose time the test changes.
struct CachingWorld: Sendable {
    final class Clock: Sendable {
        private let seconds = Mutex<Int64>(1_700_000_000)
        var now: Int64 { seconds.withLock { $0 } }
        func advance(_ count: Int64) { seconds.withLock { $0 += count } }
    }

    let clock = Clock()
    let store: MemoryCacheStore
    let cache: ResponseCache
    let origin: OriginHandler
    let loader: Loader

    init(_ origin: OriginHandler, byteLimit: Int = 1 << 20, _ change: (inout Loader.Configuration) -> Void = { _ in }) {
        self.origin = origin
        store = MemoryCacheStore(byteLimit: byteLimit)
        cache = ResponseCache(store: store) { [clock] in clock.now }
        var configuration = Loader.Configuration()
        configuration.cache = cache
        configuration.handlers = [origin]
        change(&configuration)
        loader = Loader(configuration: configuration, registry: ProtocolRegistry())
    }

    /// What a load returns, in a form that tests compare.
    struct Answer {
        let body: String
        let response: Response
        var source: ResponseSource { response.source }
        var status: Int? { response.status?.code }
        func field(_ name: String) -> String? { HTTPField.Name(name).flatMap { response.fields[$0] } }
    }

    func get(
        _ url: String = "http://host.example/a", method: HTTPRequest.Method = .get, fields: HTTPFields = HTTPFields(),
        policy: CachePolicy = .useProtocol, delegate: (any LoadDelegate)? = nil
    ) async throws -> Answer {
        var request = try Request(url, method: method, fields: fields)
        request.cachePolicy = policy
        let (body, response) = try await loader.data(for: request, delegate: delegate)
        return Answer(body: String(decoding: body, as: UTF8.self), response: response)
    }
}
