// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCache

/// The delegate decides what the cache stores.
@Suite struct WillCacheTests {
    private let world = ManualWorld()

    private typealias Decide = @Sendable (CacheableResponse?) -> Void

    /// Answers the question by a closure, at once or later.
    private final class DecidingLoad: CacheTestLoad, @unchecked Sendable {  // … because it has only constants
        private let onQuestion: @Sendable (CacheableResponse, @escaping Decide) -> Void
        init(_ onQuestion: @escaping @Sendable (CacheableResponse, @escaping Decide) -> Void) { self.onQuestion = onQuestion }
        override func loadTask(
            _ task: LoadTask, willCache response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void
        ) { onQuestion(response, decide) }
    }

    /// A question that the test answers later.
    private final class Question: Sendable {
        private let state = Mutex<(CacheableResponse, Decide)?>(nil)
        func ask(_ response: CacheableResponse, _ decide: @escaping Decide) { state.withLock { $0 = (response, decide) } }
        func answer(_ change: (inout CacheableResponse) -> Void = { _ in }) throws {
            var (response, decide) = try #require(state.withLock { $0.take() })
            change(&response)
            decide(response)
        }
    }

    private func load(_ load: CacheTestLoad, on queue: DeliveryQueue = .immediate, body: String = "hello") throws {
        try world.start(load, on: queue)
        let sent = try #require(world.sent.last)
        sent.respond(200, "Cache-Control: max-age=60", "ETag: \"x\"", "X-Old: 1")
        for piece in body.utf8.chunks(of: 1 << 18) { sent.deliver(piece) }
        sent.finish()
    }

    @Test func delegateRefuses() throws {
        try load(DecidingLoad { $1(nil) })
        try load(
            DecidingLoad { response, decide in
                var response = response
                response.storagePolicy = .notAllowed
                decide(response)
            })
        #expect(try world.entries().isEmpty && world.sent.count == 2)
    }

    @Test func delegateChangesFieldsAndAddsUserInformation() throws {
        let load = DecidingLoad { response, decide in
            #expect(response.storagePolicy == .allowed && response.response.status == .ok && response.userInfo.isEmpty)
            var response = response
            response.response.fields[.cacheControl] = "max-age=600"
            response.response.fields[.contentLength] = "77"
            response.response.status = .notFound
            response.userInfo = ["key": "value"]
            decide(response)
        }
        try self.load(load)
        // The caller of the load itself receives what the server has sent.
        #expect(load.received.response?.fields[.cacheControl] == "max-age=60" && load.received.response?.cacheUserInfo == [:])
        world.time.advance(500)
        let second = try world.start()
        let response = try #require(second.received.response)
        #expect(second.isComplete && second.body == "hello" && response.source == .cache && response.status == .ok)
        #expect(response.fields[.cacheControl] == "max-age=600" && response.fields[.contentLength] == nil)
        #expect(response.cacheUserInfo == ["key": "value"] && world.sent.count == 1)
    }

    /// The rules apply to the changed fields.
    @Test(arguments: ["no-store", "max-age=0", nil]) func changedFieldsCanForbidTheStorage(_ control: String?) throws {
        try load(
            DecidingLoad { response, decide in
                var response = response
                response.response.fields[.cacheControl] = control
                if control != "no-store" { response.response.fields[.eTag] = nil }
                decide(response)
            })
        #expect(try world.entries().count == (control == "max-age=0" ? 1 : 0))
    }

    @Test func delegateAllowsMemoryOnly() throws {
        let memory = MemoryCacheStore(byteLimit: 1 << 20)
        let persistent = MemoryCacheStore(byteLimit: 1 << 20)
        let world = ManualWorld(CombinedCacheStore(memory: memory, persistent: persistent))
        for isInMemory in [true, false] {
            try world.start(
                DecidingLoad { response, decide in
                    var response = response
                    if isInMemory { response.storagePolicy = .allowedInMemoryOnly }
                    decide(response)
                }, at: isInMemory ? "http://host.example/a" : "http://host.example/b")
            let sent = try #require(world.sent.last)
            sent.respond(200, "Cache-Control: max-age=60")
            sent.finish()
        }
        #expect(memory.entries.map(\.key.url.path) == ["/a"] && persistent.entries.map(\.key.url.path) == ["/b"])
        for path in ["a", "b"] { #expect(try world.start(at: "http://host.example/\(path)").received.response?.source == .cache) }
    }

    // MARK: - When the delegate decides

    @Test func deliveryDoesNotWaitForTheDecision() throws {
        let question = Question()
        let load = DecidingLoad { question.ask($0, $1) }
        try world.start(load)
        try world.load(0).respond(200, "Cache-Control: max-age=60")
        try world.load(0).deliver("hel")
        #expect(load.body == "hel")
        try question.answer { $0.userInfo["a"] = "b" }
        try world.load(0).deliver("lo")
        try world.load(0).finish()
        let second = try world.start()
        #expect(second.body == "hello" && second.received.response?.cacheUserInfo == ["a": "b"] && world.sent.count == 1)
    }

    /// A delegate on a queue can receive the question when the load has already ended.
    @Test func delegateOnAQueueDecidesBeforeItReceivesTheEnd() throws {
        let jobs = Mutex<[@Sendable () -> Void]>([])
        let load = CacheTestLoad()
        try self.load(load, on: DeliveryQueue { job in jobs.withLock { $0.append(job) } })
        #expect(try world.entries().isEmpty && !load.received.hasEnded)
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
        #expect(try load.isComplete && world.entries().count == 1)
        #expect(try world.start().body == "hello")
    }

    @Test func lateAnswerStoresNothing() throws {
        let question = Question()
        try load(DecidingLoad { question.ask($0, $1) })
        try question.answer()
        #expect(try world.entries().isEmpty)
    }

    @Test(arguments: [(1 << 20, true), (1 << 20 + 1, false)]) func octetsWaitForTheDecisionUpToALimit(_ count: Int, _ isStored: Bool) throws
    {
        let question = Question()
        let load = DecidingLoad { question.ask($0, $1) }
        try world.start(load)
        try world.load(0).respond(200, "Cache-Control: max-age=60")
        try world.load(0).deliver([UInt8](repeating: 1, count: count))
        try question.answer()
        try world.load(0).finish()
        #expect(try load.isComplete && world.entries().count == (isStored ? 1 : 0))
    }

    @Test(arguments: [false, true]) func loadThatEndsBeforeTheDecisionStoresNothing(_ isCancelled: Bool) throws {
        let question = Question()
        let load = DecidingLoad { question.ask($0, $1) }
        try world.start(load)
        try world.load(0).respond(200, "Cache-Control: max-age=60", "ETag: \"x\"", length: 10)
        try world.load(0).deliver("0123")
        if isCancelled { load.cancel() } else { try world.load(0).fail() }
        try question.answer()
        #expect(try world.entries().isEmpty)
    }

    /// Loads do not wait for a delegate.
    @Test func equalLoadsDoNotWaitForTheDecision() throws {
        let question = Question()
        let first = DecidingLoad { question.ask($0, $1) }
        try world.start(first)
        let second = try world.start()
        try world.load(0).respond(200, "Cache-Control: max-age=60")
        try world.load(0).finish()
        #expect(world.sent.count == 2)
        try world.load(1).respond(200, "Cache-Control: max-age=60")
        try world.load(1).finish()
        #expect(first.isComplete && second.isComplete)
    }

    @Test func delegateIsNotAskedAboutWhatIsNotStored() throws {
        let load = DecidingLoad { _, _ in Issue.record("the response may not be stored") }
        try world.start(load)
        try world.load(0).respond(200, "Cache-Control: no-store")
        try world.load(0).finish()
        #expect(load.isComplete)
    }

    @Test func closureDelegateDecides() async throws {
        let world = CachingWorld(OriginHandler { request, _ in exchange(request, 200, "Cache-Control: max-age=60", body: "hello") })
        let delegate = ClosureDelegate(onCache: { response in
            var response = response
            response.userInfo["a"] = "b"
            return response
        })
        _ = try await world.get(delegate: delegate)
        #expect(try await world.get().response.cacheUserInfo == ["a": "b"])
        _ = try await world.get("http://host.example/b", delegate: ClosureDelegate(onCache: { _ in nil }))
        #expect(try await world.get("http://host.example/b").source == .network)
    }
}

extension Collection<UInt8> {
    fileprivate func chunks(of count: Int) -> [[UInt8]] {
        var (rest, chunks) = (self[...], [[UInt8]]())
        while !rest.isEmpty {
            chunks.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return chunks
    }
}
