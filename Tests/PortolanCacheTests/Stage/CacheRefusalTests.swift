// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanURL
import Synchronization
import Testing

@testable import PortolanCache

/// What the cache says about a response that it does not store.
@Suite struct CacheRefusalTests {
    private static let rows: [(lines: [String], refusal: Storability.Refusal?)] = [
        (["Cache-Control: max-age=60"], nil), (["Cache-Control: no-store"], .responseNoStore),
        (["Cache-Control: max-age=60", "Vary: *"], .varyAll), (["Cache-Control: max-age=0, private"], nil), ([], .notUseful),
    ]

    @Test(arguments: rows) func reasonIsInTheStatus(_ lines: [String], _ refusal: Storability.Refusal?) async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in
                lines.reduce(exchange(request, 200)) { events, line in
                    var events = events
                    if case .response(var response)? = events.first {
                        let parts = line.split(separator: ":", maxSplits: 1)
                        if let name = HTTPField.Name(String(parts[0])) {
                            response.fields.append(HTTPField(name: name, value: String(parts[1].dropFirst())))
                        }
                        events[0] = .response(response)
                    }
                    return events
                }
            })
        let status = try #require(try await world.get().response.cacheStatus)
        #expect(status.reason == .noResponse && status.refusal == refusal?.rawValue)
        guard case .forward(let forward) = status.source else {
            Issue.record("\(status)")
            return
        }
        #expect(forward.isStored == (refusal == nil))
    }

    @Test func responseThatIsTooLargeIsRefused() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60", body: String(repeating: "x", count: 4096)) },
            byteLimit: 8192)
        let status = try #require(try await world.get().response.cacheStatus)
        #expect(status.refusal?.hasPrefix("the cache has no room for it") == true, "\(status)")
    }

    @Test func gatewayTimeoutOfTheCacheSaysWhy() async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200) })
        let answer = try await world.get(fields: [.cacheControl: "only-if-cached"])
        #expect(answer.status == 504 && answer.response.cacheStatus?.reason == .noResponse && answer.response.cacheStatus?.source == nil)
    }

    /// Keeps the responses of redirects.
    private final class RedirectLog: LoadDelegate {
        let responses = Mutex<[Response]>([])

        func loadTask(
            _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
        ) {
            responses.withLock { $0.append(response) }
            decide(.follow(request))
        }
    }

    @Test func redirectsHaveAStatus() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in
                request.url.path == "/a" ? exchange(request, 301, "Cache-Control: max-age=60", "Location: /b") : exchange(request, 200)
            })
        let log = RedirectLog()
        for _ in 0..<2 { _ = try await world.get(delegate: log) }
        let statuses = log.responses.withLock { $0.map(\.cacheStatus) }
        #expect(statuses.map { $0?.reason } == [.noResponse, .fresh], "\(statuses)")
        #expect(statuses.last??.source == .hit)
    }
}
