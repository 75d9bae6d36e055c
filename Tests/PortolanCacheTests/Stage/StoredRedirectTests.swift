// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization
import Testing

@testable import PortolanCache

/// Redirects that are stored without their body.
@Suite struct StoredRedirectTests {
    @Test func storedRedirectIsFollowedWithoutARequest() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in
                request.url.path == "/a"
                    ? exchange(request, 301, "Location: /b", "Cache-Control: max-age=60", body: "moved")
                    : exchange(request, 200, "Cache-Control: max-age=60", body: "here")
            })
        for source in [ResponseSource.network, .cache] {
            let answer = try await world.get()
            #expect(answer.body == "here" && answer.response.url.path == "/b" && answer.source == source)
        }
        #expect(world.origin.requests.count == 2)
    }

    /// RFC 9110 §10.2.2
    @Test func storedRedirectKeepsTheFragment() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in
                request.url.path == "/a" ? exchange(request, 301, "Location: /b", "Cache-Control: max-age=60") : exchange(request, 200)
            })
        for _ in 0..<2 { #expect(try await world.get("http://host.example/a#part").response.url.string == "http://host.example/b#part") }
        #expect(world.origin.requests.map(\.url.path) == ["/a", "/b", "/b"])
    }

    /// The body of a redirect that was followed is not stored. A caller that declines the redirect needs it.
    @Test func declinedRedirectDeliversItsBody() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in
                exchange(request, 301, "Location: /b", "Cache-Control: max-age=60", "Content-Length: 5", body: "moved")
            })
        let decliner = RedirectDecliner()
        for (number, source) in [(1, ResponseSource.network), (1, .cache)] {
            let answer = try await world.get(delegate: decliner)
            #expect(answer.status == 301 && answer.body == "moved" && answer.source == source)
            #expect(world.origin.requests.count == number)
        }
    }

    @Test func redirectWithoutStoredBodyIsLoadedAgainIfItIsDeclined() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in
                request.url.path == "/a"
                    ? exchange(request, 301, "Location: /b", "Cache-Control: max-age=60", "Content-Length: 5", body: "moved")
                    : exchange(request, 200)
            })
        _ = try await world.get()
        let decliner = RedirectDecliner()
        let answer = try await world.get(delegate: decliner)
        #expect(answer.status == 301 && answer.body == "moved" && decliner.count == 1)
    }

    private final class RedirectDecliner: LoadDelegate {
        private let declined = Mutex(0)
        var count: Int { declined.withLock { $0 } }
        func loadTask(
            _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
        ) {
            declined.withLock { $0 += 1 }
            decide(.deliver)
        }
    }
}
