// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanURL
import Testing

@testable import PortolanCache

/// Which stored responses stay, which are used, and for whom.
@Suite struct StoredUseTests {
    /// RFC 9110 §6.6.1. A date that the cache has added makes `Last-Modified` no strong validator.
    @Test func responseWithoutDateGetsTheTimeOfItsReception() async throws {
        let world = CachingWorld(
            OriginHandler {
                exchange(
                    $0, $1 == 3 ? 304 : 200, "Cache-Control: max-age=60", "Last-Modified: Tue, 14 Nov 2023 20:00:00 GMT",
                    body: $1 == 3 ? "" : "x")
            })
        #expect(try await world.get().field("Date") == nil)
        world.clock.advance(5)
        #expect(try await world.get().field("Date") == "Tue, 14 Nov 2023 22:13:20 GMT")
        #expect(world.store.entries.first?.stored.strongValidator == nil)
        _ = try await world.get("http://host.example/b")
        world.clock.advance(60)
        let validated = try await world.get()
        #expect(validated.source == .validated && validated.field("Date") == "Tue, 14 Nov 2023 22:14:25 GMT")
    }

    @Test func dateOfTheServerStays() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60", "Date: Tue, 14 Nov 2023 22:13:19 GMT") })
        for _ in 0..<2 { #expect(try await world.get().field("Date") == "Tue, 14 Nov 2023 22:13:19 GMT") }
    }

    /// Fetch's mode "no-cache" validates always. `max-age=0` of the request is a reload, for which RFC 8246 is made.
    @Test(arguments: [(CachePolicy.revalidate, "x=1", 2), (.useProtocol, "max-age=0", 1)])
    func immutableResponseIsValidatedByPolicy(_ policy: CachePolicy, _ control: String, _ count: Int) async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60, immutable", "ETag: \"x\"") })
        _ = try await world.get("https://host.example/a")
        _ = try await world.get("https://host.example/a", fields: [.cacheControl: control], policy: policy)
        #expect(world.origin.requests.count == count)
    }

    // MARK: - Newer responses that may not be stored

    @Test(
        arguments: [
            (200, "Cache-Control: no-store", CachePolicy.reload, false), (404, "Cache-Control: no-store", .useProtocol, false),
            (410, "X: 1", .useProtocol, false), (200, "Vary: *", .reload, false), (503, "Cache-Control: no-store", .useProtocol, true),
            (401, "Cache-Control: no-store", .reload, true), (200, "Cache-Control: no-store", .noStore, true),
        ])
    func newerResponseRemovesTheStoredOne(_ status: Int, _ line: String, _ policy: CachePolicy, _ stays: Bool) async throws {
        let world = CachingWorld(
            OriginHandler {
                $1 == 1 ? exchange($0, 200, "Cache-Control: max-age=10", body: "old") : exchange($0, status, line, body: "new")
            })
        _ = try await world.get()
        world.clock.advance(11)
        #expect(try await world.get(policy: policy).body == "new")
        #expect(world.store.entries.count == (stays ? 1 : 0))
    }

    /// Only the response that would have been replaced is removed.
    @Test func otherVariantStays() async throws {
        let world = CachingWorld(
            OriginHandler {
                $1 < 3
                    ? exchange($0, 200, "Cache-Control: max-age=60", "Vary: Accept", body: "\($1)")
                    : exchange($0, 200, "Cache-Control: no-store", body: "new")
            })
        for accept in ["a", "b"] { _ = try await world.get(fields: [.accept: accept]) }
        _ = try await world.get(fields: [.accept: "a"], policy: .reload)
        #expect(try await world.get(fields: [.accept: "b"]).body == "2")
        #expect(world.store.entries.count == 1)
    }

    // MARK: - Redirects and completion

    /// The length of an empty body is known after it was received, also without `Content-Length`.
    @Test func declinedRedirectWithEmptyBodyIsStored() async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 301, "Location: /b", "Cache-Control: max-age=60") })
        for source in [ResponseSource.network, .cache] {
            let answer = try await world.get(delegate: Decliner())
            #expect(answer.status == 301 && answer.body.isEmpty && answer.source == source)
        }
        #expect(world.origin.requests.count == 1)
    }

    private final class Decliner: LoadDelegate {
        func loadTask(
            _ task: LoadTask, willRedirectTo request: Request, response: Response, decide: @escaping @Sendable (RedirectDecision) -> Void
        ) { decide(.deliver) }
    }

    /// A response that does not depend on the range is the answer. Only 416 is about the added range.
    @Test(arguments: [(503, 2, "503"), (404, 2, "404"), (416, 3, "whole")])
    func responseToACompletionIsDelivered(_ status: Int, _ count: Int, _ body: String) async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                if number == 2 { return exchange(request, status, "Cache-Control: no-store", body: "\(status)") }
                if number == 3 { return exchange(request, 200, body: "whole") }
                var response = Response(url: request.url, expectedLength: 10, status: .ok)
                response.fields = [.cacheControl: "max-age=60", .eTag: "\"x\""]
                return [.response(response), .data(Array("0123".utf8)), .failure(LoadError(.connectionLost, message: "cut"))]
            })
        await #expect(throws: LoadError.self) { try await world.get() }
        let answer = try await world.get()
        #expect(answer.body == body && world.origin.requests.count == count)
    }

    // MARK: - Keys

    @Test func partitionsShareNothing() async throws {
        let world = CachingWorld(OriginHandler { exchange($0, 200, "Cache-Control: max-age=60", body: "\($1)") }) { configuration in
            configuration.cachePartition = { $0.mainDocumentURL?.string ?? "none" }
        }
        func get(_ document: String?) async throws -> String {
            var request = try Request("http://host.example/a")
            request.mainDocumentURL = try document.map { try URLRecord(parsing: $0) }
            return String(decoding: try await world.loader.data(for: request).0, as: UTF8.self)
        }
        for (document, body) in [
            (nil, "1"), ("http://a.example/", "2"), ("http://b.example/", "3"), ("http://a.example/", "2"), (nil, "1"),
        ] {
            #expect(try await get(document) == body)
        }
        world.cache.removeResponses(for: try URLRecord(parsing: "http://host.example/a"))
        #expect(world.store.entries.isEmpty)
    }

    /// A handler that distinguishes requests with one URL: by a property.
    private struct ModalHandler: ProtocolHandler {
        static let property = "org.example.mode"
        let identifier = "test.modal"
        let schemes = SchemeSet.only(["modal"])
        let traits: HandlerTraits = [.cacheable, .stopsAsynchronously]

        func isCacheEquivalent(_ a: Request, to b: Request) -> Bool {
            a.url == b.url && a.properties[Self.property] == b.properties[Self.property]
        }

        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            var response = Response(url: request.url)
            response.fields[.cacheControl] = "max-age=60"
            let text = if case .text(let mode)? = request.properties[Self.property] { mode } else { "plain" }
            return AllowedLoad(response, text, client)
        }

        /// Delivers a response with the storage policy `.allowed`.
        private final class AllowedLoad: ProtocolLoad {
            private let (response, text, client): (Response, String, any ProtocolClient)
            init(_ response: Response, _ text: String, _ client: any ProtocolClient) {
                (self.response, self.text, self.client) = (response, text, client)
            }
            var stopsAsynchronously: Bool { true }
            func startLoading() {
                guard client.didReceive(response, storage: .allowed) == .keepGoing else { return }
                let octets = Array(text.utf8)
                let span = octets.span
                _ = unsafe client.didLoad(span.bytes)
                client.didFinishLoading()
            }
            func stopLoading() {}
            func resumeLoading() {}
        }
    }

    @Test func requestThatIsNotEquivalentToItsURLDoesNotUseTheCache() async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200) }) { $0.handlers.append(ModalHandler()) }
        func get(_ mode: String?, _ policy: CachePolicy = .useProtocol) async throws -> (String, ResponseSource) {
            var request = try Request("modal:x")
            request.properties[ModalHandler.property] = mode.map { .text($0) }
            request.cachePolicy = policy
            let (body, response) = try await world.loader.data(for: request)
            return (String(decoding: body, as: UTF8.self), response.source)
        }
        #expect(try await get(nil) == ("plain", .network))
        #expect(try await get("ascii") == ("ascii", .network))
        #expect(try await get("ascii") == ("ascii", .network))
        #expect(try await get(nil) == ("plain", .cache))
        await #expect(throws: LoadError.self) { try await get("ascii", .onlyCached) }
        #expect(world.store.entries.count == 1)
    }
}
