// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Testing

@testable import PortolanCache

/// Ranges and parts of stored responses.
@Suite struct CachedPartsTests {
    @Test func rangeIsAnsweredFromACompleteResponse() async throws {
        let world = CachingWorld(
            OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60", "ETag: \"x\"", body: "0123456789") })
        _ = try await world.get()
        let part = try await world.get(fields: [.range: "bytes=2-4"])
        #expect(part.status == 206 && part.body == "234" && part.field("Content-Range") == "bytes 2-4/10")
        #expect(try await world.get(fields: [.range: "bytes=20-"]).status == 416)
        #expect(world.origin.requests.count == 1)
    }

    @Test func partsAreCombined() async throws {
        let world = CachingWorld(OriginHandler { request, _ in rangesExchange(request) })
        #expect(try await world.get(fields: [.range: "bytes=0-4"]).body == "01234")
        #expect(try await world.get(fields: [.range: "bytes=5-9"]).body == "56789")
        let whole = try await world.get()
        #expect(whole.body == "0123456789" && whole.source == .cache && whole.status == 200)
        #expect(world.origin.requests.count == 2)
    }

    @Test func interruptedResponseIsCompleted() async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                if number > 1 { return rangesExchange(request) }
                var response = Response(url: request.url, expectedLength: 10, status: .ok)
                response.fields = [.cacheControl: "max-age=60", .eTag: "\"x\""]
                return [.response(response), .data(Array("0123".utf8)), .failure(LoadError(.connectionLost, message: "cut"))]
            })
        await #expect(throws: LoadError.self) { try await world.get() }
        let whole = try await world.get()
        #expect(whole.body == "0123456789" && whole.status == 200 && whole.source == .validated)
        #expect(world.origin.requests.last?.fields[.range] == "bytes=4-" && world.origin.requests.last?.fields[.ifRange] == "\"x\"")
        #expect(try await world.get().source == .cache)
    }

    @Test func interruptedResponseThatHasChangedIsReplaced() async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                if number > 1 { return exchange(request, 200, "Cache-Control: max-age=60", "ETag: \"y\"", body: "new") }
                var response = Response(url: request.url, expectedLength: 10, status: .ok)
                response.fields = [.cacheControl: "max-age=60", .eTag: "\"x\""]
                return [.response(response), .data(Array("0123".utf8)), .failure(LoadError(.connectionLost, message: "cut"))]
            })
        await #expect(throws: LoadError.self) { try await world.get() }
        for source in [ResponseSource.network, .cache] {
            let whole = try await world.get()
            #expect(whole.body == "new" && whole.source == source)
        }
    }

    /// A part is stored only if it has the octets of its `Content-Range`.
    @Test(
        arguments: [
            ("bytes 0-9/10", "short"), ("bytes 0-4/5", "0123456789"), ("bytes 9223372036854775800-9223372036854775805/*", "0123456789"),
            ("bytes 576460752303423480-576460752303423485/*", "0123456789"),
        ])
    func partWithOtherOctetsThanItSaysIsNotStored(_ range: String, _ body: String) async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                if number > 1 { return exchange(request, 200, body: "whole") }
                var response = Response(url: request.url, status: .partialContent)
                response.fields = [.cacheControl: "max-age=60", .eTag: "\"x\"", .contentRange: range]
                return [.response(response), .data(Array(body.utf8)), .finish]
            })
        #expect(try await world.get().body == body)
        #expect(world.store.entries.isEmpty)
        #expect(try await world.get().body == "whole")
    }

    @Test(arguments: ["45678", "456789X"])
    func restWithOtherOctetsThanItSaysFailsTheLoadOnce(_ rest: String) async throws {
        let world = CachingWorld(
            OriginHandler { request, number in
                var response = Response(
                    url: request.url, expectedLength: number == 1 ? 10 : nil, status: number == 2 ? .partialContent : .ok)
                response.fields = [.cacheControl: "max-age=60", .eTag: "\"x\""]
                switch number {
                case 1: return [.response(response), .data(Array("0123".utf8)), .failure(LoadError(.connectionLost, message: "cut"))]
                case 2:
                    response.fields[.contentRange] = "bytes 4-9/10"
                    return [.response(response), .data(Array(rest.utf8)), .finish]
                default: return exchange(request, 200, body: "whole")
                }
            })
        for code in [LoadError.Code.connectionLost, .badResponse] {
            let error = await #expect(throws: LoadError.self) { try await world.get() }
            #expect(error?.code == code)
        }
        #expect(try await world.get().body == "whole")
    }
}
