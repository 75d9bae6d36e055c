// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCache

/// Equal requests at the same time: one is sent, and the other loads wait for its response.
@Suite struct CollapsedLoadsTests {
    private let world = ManualWorld()

    private func start(_ count: Int, _ fields: HTTPFields = HTTPFields()) throws -> [CacheTestLoad] {
        try (0..<count).map { _ in try world.start(fields: fields) }
    }

    /// Nothing is left behind, however the loads have ended.
    private func expectNoRest() {
        #expect(world.cache.waitingLoadCount == 0 && world.cache.sentRequestCount == 0)
    }

    @Test func manyLoadsShareOneRequest() throws {
        let loads = try start(1000)
        #expect(world.sent.count == 1 && world.cache.waitingLoadCount == 999)
        try world.load(0).respond(200, "Cache-Control: max-age=60", length: 5)
        try world.load(0).deliver("hello")
        try world.load(0).finish()
        #expect(world.sent.count == 1)
        #expect(loads.allSatisfy { $0.isComplete && $0.body == "hello" })
        #expect(loads.map(\.isCollapsed) == [false] + Array(repeating: true, count: 999))
        #expect(loads.last?.cacheStatus == "portolan;fwd=uri-miss;stored;collapsed;detail=noResponse")
        #expect(try world.start().received.response?.cacheStatus?.source == .hit)
        expectNoRest()
    }

    /// The body of a response that may not be stored, or not be used again, is not awaited. Later loads of its URL do
    /// not wait either, until a response can be shared.
    @Test(arguments: ["no-store", "no-cache", "max-age=0"])
    func responseThatCannotBeSharedHoldsNobody(_ control: String) throws {
        let loads = try start(10)
        try world.load(0).respond(200, "Cache-Control: \(control)", "ETag: \"x\"")
        #expect(world.sent.count == 10)
        _ = try world.start()
        #expect(world.sent.count == 11)
        for sent in world.sent {
            if sent !== world.sent.first { sent.respond(200, "Cache-Control: max-age=60") }
            sent.finish()
        }
        #expect(loads.allSatisfy { $0.isComplete })
        world.time.advance(61)
        _ = try start(10)
        #expect(world.sent.count == 12)
        try world.load(11).fail()
        for sent in world.sent.dropFirst(12) { sent.finish() }
    }

    /// A time limit of one load, such as its `request.timeout`, says nothing about the response for the others.
    @Test(arguments: [LoadError.Code.timedOut, .limitExceeded])
    func oneLoadTakesOverAfterALimitOfTheFirst(code: LoadError.Code) throws {
        let loads = try start(10)
        try world.load(0).fail(code)
        #expect(world.sent.count == 2 && world.cache.waitingLoadCount == 8)
        try world.load(1).respond(200, "Cache-Control: max-age=60")
        try world.load(1).finish()
        #expect(world.sent.count == 2 && loads.dropFirst().allSatisfy { $0.isComplete })
        expectNoRest()
    }

    /// The first load ends after the second one has seen it under way, and before the second one begins its request.
    @Test func loadThatBecomesTheFirstLooksAgain() throws {
        final class Hook: Sendable {
            let action = Mutex<(countdown: Int, run: @Sendable () -> Void)?>(nil)

            func call() {
                let run = action.withLock { action -> (@Sendable () -> Void)? in
                    action?.countdown -= 1
                    return action?.countdown == 0 ? action.take()?.run : nil
                }
                run?()
            }
        }
        let hook = Hook()
        let world = ManualWorld(onTime: { hook.call() })
        try world.start()
        let first = try world.load(0)
        // The second load asks for the time in `makeFillClient`, and then when the `CachingLoad` is made.
        hook.action.withLock { action in
            action = (
                2,
                {
                    first.respond(200, "Cache-Control: max-age=60")
                    first.finish()
                }
            )
        }
        let second = try world.start()
        #expect(second.isComplete && second.received.response?.source == .cache && world.sent.count == 1)
        #expect(hook.action.withLock { $0 == nil })
    }

    @Test func loadsGoOnTheirOwnAfterAFailure() throws {
        let loads = try start(10)
        try world.load(0).fail()
        #expect(world.sent.count == 10 && loads.count { $0.received.hasEnded } == 1)
        for sent in world.sent.dropFirst() {
            sent.respond(200, "Cache-Control: max-age=60")
            sent.finish()
        }
        #expect(loads.count { $0.isComplete } == 9)
        expectNoRest()
    }

    @Test func bodyThatFailsReleasesTheWaitingLoads() throws {
        let loads = try start(3)
        try world.load(0).respond(200, "Cache-Control: max-age=60", "ETag: \"x\"", length: 10)
        try world.load(0).deliver("0123")
        #expect(world.sent.count == 1)
        try world.load(0).fail()
        // They complete what was stored.
        #expect(world.sent.dropFirst().map { $0.request.fields[.range] } == ["bytes=4-", "bytes=4-"])
        for sent in world.sent.dropFirst() {
            sent.respond(206, "Cache-Control: max-age=60", "ETag: \"x\"", "Content-Range: bytes 4-9/10")
            sent.deliver("456789")
            sent.finish()
        }
        #expect(loads.dropFirst().allSatisfy { $0.isComplete && $0.body == "0123456789" })
        expectNoRest()
    }

    /// The first of the waiting loads takes the place of a load that is cancelled.
    @Test func cancelledLoadIsReplacedByTheNextOne() throws {
        let loads = try start(5)
        for index in 0..<3 {
            loads[index].cancel()
            #expect(world.sent.count == index + 2 && world.cache.waitingLoadCount == 3 - index)
        }
        try world.load(3).respond(200, "Cache-Control: max-age=60", length: 2)
        try world.load(3).deliver("ok")
        try world.load(3).finish()
        #expect(loads.dropFirst(3).allSatisfy { $0.body == "ok" && $0.isComplete } && world.sent.count == 4)
        expectNoRest()
    }

    @Test func waitingLoadsCanBeCancelled() throws {
        let loads = try start(100)
        for load in loads.dropFirst() { load.cancel() }
        #expect(world.cache.waitingLoadCount == 0 && loads.dropFirst().allSatisfy { $0.received.error?.code == .cancelled })
        try world.load(0).respond(200, "Cache-Control: max-age=60")
        try world.load(0).finish()
        #expect(loads[0].isComplete && world.sent.count == 1)
        expectNoRest()
    }

    @Test func nobodyWaitsForALoadThatPauses() throws {
        let paused = try world.start(PausingTestLoad())
        let loads = try start(3)
        try world.load(0).respond(200, "Cache-Control: max-age=60", length: 5)
        #expect(world.sent.count == 1)
        try world.load(0).deliver("he")
        #expect(world.sent.count == 4)
        for sent in world.sent.dropFirst() {
            sent.respond(200, "Cache-Control: max-age=60")
            sent.finish()
        }
        #expect(loads.allSatisfy { $0.isComplete })
        paused.cancel()
        expectNoRest()
    }

    @Test func nobodyWaitsForALoadThatAsksForAPassword() throws {
        _ = try start(2)
        let space = ProtectionSpace(kind: .password(scheme: "basic"), protocolName: "http", host: "host.example")
        try world.load(0).client.didReceive(AuthenticationChallenge(protectionSpace: space) { _ in })
        #expect(world.sent.count == 2)
        for sent in world.sent { sent.fail() }
        expectNoRest()
    }

    @Test func loadsOfAnotherVariantShareAnotherRequest() throws {
        let english = try start(3, [.acceptLanguage: "en"])
        let german = try start(3, [.acceptLanguage: "de"])
        #expect(world.sent.count == 1)
        for (index, text) in ["yes", "ja"].enumerated() {
            try world.load(index).respond(200, "Cache-Control: max-age=60", "Vary: Accept-Language")
            try world.load(index).deliver(text)
            try world.load(index).finish()
        }
        #expect(world.sent.count == 2)
        #expect(english.allSatisfy { $0.body == "yes" && $0.isComplete } && german.allSatisfy { $0.body == "ja" && $0.isComplete })
        expectNoRest()
    }

    /// After a wait in vain, different requests are not sent one after the other.
    @Test func differentVariantsAreLoadedAtTheSameTime() throws {
        for language in ["en", "de", "fr", "it"] { try world.start(fields: [.acceptLanguage: language]) }
        try world.load(0).respond(200, "Cache-Control: max-age=60", "Vary: Accept-Language")
        try world.load(0).finish()
        #expect(world.sent.count == 4)
        for sent in world.sent.dropFirst() { sent.fail() }
        expectNoRest()
    }

    @Test func validationIsShared() throws {
        _ = try start(1)
        try world.load(0).respond(200, "Cache-Control: max-age=10", "ETag: \"x\"")
        try world.load(0).finish()
        world.time.advance(11)
        let loads = try start(5)
        #expect(world.sent.count == 2)
        try world.load(1).respond(304, "Cache-Control: max-age=10", "ETag: \"x\"")
        try world.load(1).finish()
        #expect(world.sent.count == 2 && loads.allSatisfy { $0.isComplete })
        // The reason is that of the request that was not sent.
        #expect(loads.last?.cacheStatus == "portolan;fwd=stale;stored;collapsed;detail=stale")
        #expect(loads.first?.cacheStatus == "portolan;fwd=stale;fwd-status=304;stored;detail=stale")
        expectNoRest()
    }

    @Test func redirectIsShared() throws {
        let loads = try start(3)
        let response = Response(
            url: try world.load(0).request.url, status: .movedPermanently, fields: [.location: "/b", .cacheControl: "max-age=60"])
        let next = try #require(try world.load(0).request.redirected(by: response))
        _ = try world.load(0).client.wasRedirected(to: next, redirectResponse: response)
        #expect(world.sent.map(\.request.url.path) == ["/a", "/b"])
        try world.load(1).respond(200, "Cache-Control: max-age=60")
        try world.load(1).finish()
        #expect(loads.allSatisfy { $0.isComplete })
        expectNoRest()
    }

    @Test func backgroundValidationIsAwaited() throws {
        _ = try start(1)
        try world.load(0).respond(200, "Cache-Control: max-age=10, stale-while-revalidate=10", "ETag: \"x\"")
        try world.load(0).finish()
        world.time.advance(15)
        #expect(try start(3).allSatisfy { $0.isComplete })
        #expect(world.sent.count == 2)
        world.time.advance(15)
        let late = try start(3)
        #expect(world.sent.count == 2 && late.allSatisfy { !$0.received.hasEnded })
        try world.load(1).respond(304, "Cache-Control: max-age=60", "ETag: \"x\"")
        try world.load(1).finish()
        #expect(late.allSatisfy { $0.isComplete } && world.sent.count == 2)
        expectNoRest()
    }

    /// A background validation does not keep its loader, and ends with it.
    @Test func backgroundValidationEndsWithItsLoader() throws {
        let origin = ManualHandler(schemes: .only(["http"]), traits: [.cacheable, .httpFields, .stopsAsynchronously])
        let time = CachingWorld.Clock()
        var configuration = Loader.Configuration()
        configuration.cache = ResponseCache(store: MemoryCacheStore()) { time.now }
        configuration.handlers = [origin]
        var loader: Loader? = Loader(configuration: configuration, registry: ProtocolRegistry())
        weak let weakLoader = loader
        let request = try Request("http://host.example/a")
        for _ in 0..<2 {
            loader?.task(for: request, delegate: CacheTestLoad()).resume()
            if let first = origin.loads.first, time.now == 1_700_000_000 {
                first.respond(200, "Cache-Control: max-age=10, stale-while-revalidate=60")
                first.finish()
                time.advance(20)
            }
        }
        let background = try #require(origin.loads.dropFirst().first)
        #expect(!background.isStopped)
        loader = nil
        #expect(weakLoader == nil && background.isStopped)
    }

    // MARK: - Each load has its own limits

    @Test func waitIsLimited() throws {
        let loads = try start(3)
        world.clock.advance(by: .seconds(19))
        #expect(world.sent.count == 1)
        world.clock.advance(by: .seconds(2))
        #expect(world.sent.count == 3 && world.cache.waitingLoadCount == 0)
        for sent in world.sent {
            sent.respond(200, "Cache-Control: max-age=60")
            sent.finish()
        }
        #expect(loads.allSatisfy { $0.isComplete })
        expectNoRest()
    }

    /// The limit is for all waits of a load together.
    @Test func cancelledLoadsDoNotProlongTheWait() throws {
        let loads = try start(5)
        world.clock.advance(by: .seconds(15))
        loads[0].cancel()
        #expect(world.sent.count == 2 && world.cache.waitingLoadCount == 3)
        world.clock.advance(by: .seconds(4))
        loads[1].cancel()
        #expect(world.sent.count == 3 && world.cache.waitingLoadCount == 2)
        world.clock.advance(by: .milliseconds(999))
        #expect(world.sent.count == 3 && world.cache.waitingLoadCount == 2)
        world.clock.advance(by: .milliseconds(1))
        #expect(world.sent.count == 5 && world.cache.waitingLoadCount == 0)
        for sent in world.sent.dropFirst() { sent.fail() }
        expectNoRest()
    }

    @Test func totalTimeIsThatOfTheWaitingLoad() throws {
        let first = try world.start()
        let second = try world.start { $0.timeouts.total = .seconds(5) }
        world.clock.advance(by: .seconds(6))
        #expect(second.received.error?.code == .timedOut && !first.received.hasEnded)
        try world.load(0).respond(200, "Cache-Control: max-age=60")
        try world.load(0).finish()
        #expect(first.isComplete)
        expectNoRest()
    }

    /// Requests that are not answered by the response to the first one, or that are more urgent, do not wait.
    @Test(
        arguments: [
            { $0.cachePolicy = .reload }, { $0.cachePolicy = .revalidate }, { $0.cachePolicy = .noStore }, { $0.priority = .high },
            { $0.fields[.cacheControl] = "no-cache" }, { $0.fields[.cacheControl] = "no-store" }, { $0.method = .head },
            { $0.fields[.ifMatch] = "\"x\"" },
        ] as [@Sendable (inout Request) -> Void])
    func otherRequestsAreSent(_ change: @Sendable (inout Request) -> Void) throws {
        _ = try world.start()
        _ = try world.start(change: change)
        #expect(world.sent.count == 2)
        for sent in world.sent { sent.fail() }
        expectNoRest()
    }

    @Test(arguments: [HTTPRequest.Method.get, .post]) func nobodyWaitsForARequestWhoseResponseIsNotForOthers(_ method: HTTPRequest.Method)
        throws
    {
        _ = try world.start(method: method, fields: method == .get ? [.range: "bytes=0-4"] : HTTPFields())
        _ = try world.start()
        #expect(world.sent.count == 2)
        for sent in world.sent { sent.fail() }
        expectNoRest()
    }

    // MARK: - Threads

    private struct CacheableAsyncHandler: ProtocolHandler {
        let base: AsyncHandler
        var identifier: String { base.identifier }
        var schemes: SchemeSet { base.schemes }
        var traits: HandlerTraits { base.traits.union([.cacheable, .httpFields]) }

        init(_ load: @escaping @Sendable (Request, AsyncClient) async throws -> Void) {
            base = AsyncHandler(identifier: "test.async", schemes: ["x"], load: load)
        }

        func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
            base.makeLoad(for: request, cachedResponse: nil, client: client)
        }
    }

    /// Loads on many threads, which end in all ways. Each one ends, and nothing is left behind.
    @Test func loadsOnManyThreadsEnd() async throws {
        let cache = ResponseCache(memoryLimit: 1 << 20)
        let number = Atomic(0)
        var configuration = Loader.Configuration()
        configuration.cache = cache
        configuration.handlers = [
            CacheableAsyncHandler { request, client in
                let draw = number.add(1, ordering: .relaxed).newValue % 7
                await Task.yield()
                if draw == 0 { throw LoadError(.connectionLost, message: "cut") }
                var response = Response(url: request.url, status: .ok)
                response.fields[.cacheControl] = draw == 1 ? "no-store" : draw == 2 ? "max-age=0" : "max-age=60"
                response.fields[.vary] = draw == 3 ? "Accept" : nil
                try await client.didReceive(response)
                await Task.yield()
                try await client.didLoad(Array("hello".utf8))
                if draw == 4 { throw LoadError(.connectionLost, message: "cut") }
            }
        ]
        let loader = Loader(configuration: configuration, registry: ProtocolRegistry())
        let ends = await withTaskGroup(of: Bool.self, returning: [Bool].self) { group in
            for index in 0..<600 { group.addTask { await Self.load(index, loader, cache) } }
            var ends: [Bool] = []
            for await end in group { ends.append(end) }
            return ends
        }
        #expect(ends.count == 600 && ends.allSatisfy { $0 })
        #expect(cache.waitingLoadCount == 0)
    }

    /// - Returns: whether the load has ended as it may.
    private static func load(_ index: Int, _ loader: Loader, _ cache: ResponseCache) async -> Bool {
        if index % 40 == 39 { cache.removeAll() }
        let task = Task {
            var request = try Request("x://host/\(index % 5)")
            request.fields[.accept] = index % 3 == 0 ? "a" : "b"
            return try await loader.data(for: request).0
        }
        if index % 11 == 0 { task.cancel() }
        switch await task.result {
        case .success(let body): return Array(body) == Array("hello".utf8)
        case .failure(let error as LoadError): return [.connectionLost, .cancelled].contains(error.code)
        case .failure: return true
        }
    }
}
