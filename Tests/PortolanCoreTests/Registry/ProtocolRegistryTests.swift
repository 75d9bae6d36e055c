// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite struct ProtocolRegistryTests {
    private static func request(_ text: String) throws -> Request { try Request(text) }

    private static func stub(_ identifier: String, _ schemes: SchemeSet) -> StubHandler {
        StubHandler(identifier: identifier, schemes: schemes) { _ in .text(identifier) }
    }

    @Test func latestRegistrationHasPrecedence() throws {
        let registry = ProtocolRegistry()
        for name in ["a", "b", "c"] { registry.register(Self.stub(name, .only(["x"]))) }
        #expect(try registry.snapshot().handler(for: Self.request("x:1"))?.handler.identifier == "c")
    }

    @Test("The removal of thousands of handlers in one call does not overflow a thread's stack") func manyHandlersAreUnregistered() throws {
        let registry = ProtocolRegistry()
        let registration = registry.register(Self.stub("a", .only(["x"])))
        registry.replace(registration, with: Array(repeating: Self.stub("b", .only(["x"])), count: 5000))
        let drain = registry.unregister(registration)
        let calls = ConditionLock(0)
        try PlatformThread.start { drain.whenFinished { calls.withLockBroadcasting { $0 += 1 } } }
        calls.wait { $0 > 0 ? () : nil }
        #expect(drain.isFinished && calls.withLock { $0 } == 1)
    }

    @Test func handlersForAnySchemeKeepTheirPrecedence() throws {
        let registry = ProtocolRegistry()
        registry.register(Self.stub("any-1", .any))
        registry.register(Self.stub("x", .only(["x"])))
        registry.register(Self.stub("any-2", .any))
        let refusing = RefusingHandler()
        registry.register(refusing)
        let candidates = try registry.snapshot().handlerCandidates(for: Self.request("x:1"), unavailableHandlers: []).candidates
        #expect(candidates.map(\.handler) == ["refusing", "any-2"])
        #expect(candidates.map(\.refusal) == [.cannotInit, nil])
    }

    @Test func lookupByTheSchemeIndexKeepsTheOrderOfRegistration() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<200 {
            let registry = ProtocolRegistry()
            var expected: [String] = []
            for number in 0..<Int.random(in: 1...12, using: &random) {
                let schemes: SchemeSet = [.any, .only(["x"]), .only(["y"]), .only(["y", "x"])].randomElement(using: &random) ?? .any
                let handler = RefusingHandler(identifier: "h\(number)", schemes: schemes)
                registry.register(handler)
                if schemes.contains("x") { expected.insert(handler.identifier, at: 0) }
            }
            #expect(
                try registry.snapshot().handlerCandidates(for: Self.request("x:1"), unavailableHandlers: []).candidates.map(\.handler)
                    == expected)
        }
    }

    @Test func handlerMayRegisterAnotherHandlerInCanInit() throws {
        let registry = ProtocolRegistry()
        let handler = RegisteringHandler(registry)
        registry.register(handler)
        #expect(try registry.snapshot().handler(for: Self.request("x:1"))?.handler.identifier == "registering")
        #expect(try registry.snapshot().handler(for: Self.request("x:1"))?.handler.identifier == "late")
    }

    @Test func handlerIsSkippedForARequestThatItHasVisited() throws {
        let registry = ProtocolRegistry()
        registry.register(Self.stub("below", .any))
        registry.register(Self.stub("above", .any))
        var request = try Self.request("x:1")
        request.visitedHandlers = [LoopGuard(handler: "above", url: request.url)]
        #expect(
            registry.snapshot().handlerCandidates(for: request, unavailableHandlers: []).candidates.map(\.refusal) == [.ownRequest, nil])
        request.url = try URLRecord(parsing: "x:2")
        #expect(registry.snapshot().handlerCandidates(for: request, unavailableHandlers: []).candidates.map(\.handler) == ["above"])
    }

    @Test func removalFinishesWithTheLastLoad() async throws {
        let registry = ProtocolRegistry()
        let registration = registry.register(Self.stub("a", .any))
        let entry = try #require(try registry.snapshot().handler(for: Self.request("x:1")))
        let staleSnapshot = registry.snapshot()
        let drain = registry.unregister(registration)
        #expect(!drain.isFinished)
        #expect(
            try staleSnapshot.handler(for: Self.request("x:1")) == nil,
            "a snapshot that was taken before the removal must not start new loads")
        entry.endLoad()
        #expect(drain.isFinished)
        await drain.finished()
    }

    // MARK: Replacing

    @Test func replacementKeepsThePrecedence() throws {
        let registry = ProtocolRegistry()
        registry.register(Self.stub("a", .any))
        let registration = registry.register(Self.stub("b", .only(["x"])))
        registry.register(RefusingHandler())
        #expect(registry.replace(registration, with: [Self.stub("b2", .only(["y"])), Self.stub("b3", .any)])?.isFinished == true)
        #expect(registry.handlers.map(\.identifier) == ["refusing", "b3", "b2", "a"])
        #expect(registry.schemes == ["y"])
        // The entry of the registration now contains all the new handlers.
        registry.replace(registration, with: [Self.stub("b4", .any)])
        #expect(registry.handlers.map(\.identifier) == ["refusing", "b4", "a"])
        registry.unregister(registration)
        #expect(registry.replace(registration, with: [Self.stub("b5", .any)]) == nil)
        #expect(registry.handlers.map(\.identifier) == ["refusing", "a"])
    }

    @Test func replacedHandlerKeepsItsRunningLoads() async throws {
        let registry = ProtocolRegistry()
        let registration = registry.register(Self.stub("a", .any))
        let registeredHandler = try #require(try registry.snapshot().handler(for: Self.request("x:1")))
        let drain = try #require(registry.replace(registration, with: [Self.stub("b", .any)]))
        #expect(try registry.snapshot().handler(for: Self.request("x:1"))?.handler.identifier == "b")
        #expect(!drain.isFinished)
        registeredHandler.endLoad()
        #expect(drain.isFinished)
    }

    /// During a replacement, a look-up must not find the handler `below`, which has lower precedence.
    @Test func lookupDuringAReplacementFindsTheOldOrTheNewHandler() async throws {
        let registry = ProtocolRegistry()
        let request = try Self.request("x:1")
        registry.register(Self.stub("below", .any))
        let registration = registry.register(Self.stub("above", .any))
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<20_000 {
                        guard case .handler(let entry)? = registry.find(request, excluding: []) else {
                            Issue.record("no handler was found")
                            return
                        }
                        #expect(entry.handler.identifier == "above")
                        entry.endLoad()
                    }
                }
            }
            group.addTask { for _ in 0..<5_000 { registry.replace(registration, with: [Self.stub("above", .any)]) } }
        }
    }

    @Test func concurrentRegistrationAndLookupLoseNoHandler() async throws {
        let registry = ProtocolRegistry()
        let request = try Self.request("x:1")
        registry.register(Self.stub("base", .any))
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for number in 0..<100 {
                        let registration = registry.register(Self.stub("\(worker)-\(number)", number % 2 == 0 ? .any : .only(["x"])))
                        // Like a loader, `find` repeats the look-up if a handler was unregistered after the snapshot.
                        if case .handler(let entry)? = registry.find(request, excluding: []) {
                            entry.endLoad()
                        } else {
                            Issue.record("no handler was found")
                        }
                        if number % 10 != 0 { registry.unregister(registration) }
                    }
                }
            }
        }
        #expect(registry.handlers.count == 1 + 8 * 10)
        // For each worker, newer handlers have precedence over older ones.
        let identifiersOfFirstWorker = registry.handlers.map(\.identifier).filter { $0.hasPrefix("0-") }
        #expect(identifiersOfFirstWorker == stride(from: 90, through: 0, by: -10).map { "0-\($0)" })
    }
}

private struct RefusingHandler: ProtocolHandler {
    var identifier = "refusing"
    var schemes = SchemeSet.any
    func canInit(_ request: Request) -> Bool { false }
    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        FailedLoad(LoadError(.unknown, message: "this handler accepts no request"), client: client)
    }
}

/// A handler that registers another handler in its first `canInit`.
private final class RegisteringHandler: ProtocolHandler {
    let identifier = "registering"
    let schemes = SchemeSet.any
    /// The registry for the other handler; `nil` after the first call of `canInit`.
    private let registry: Mutex<ProtocolRegistry?>

    init(_ registry: ProtocolRegistry) { self.registry = Mutex(registry) }

    func canInit(_ request: Request) -> Bool {
        registry.withLock { $0.take() }?.register(StubHandler(identifier: "late") { _ in .text("late") })
        return true
    }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        FailedLoad(LoadError(.unknown, message: "this handler loads nothing"), client: client)
    }
}

extension RegistryIndex {
    /// Returns the handler that accepts `request`; `nil` if a handler must be made first.
    fileprivate func handler(for request: Request) -> RegisteredHandler? {
        // A stale index returns no handler.
        do throws(StaleIndexError) { if case .handler(let entry)? = try find(request) { return entry } } catch {}
        return nil
    }
}
