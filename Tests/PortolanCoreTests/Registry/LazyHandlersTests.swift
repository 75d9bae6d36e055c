// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

@Suite struct LazyHandlersTests {
    private static func loader(_ registry: ProtocolRegistry) -> Loader {
        Loader(configuration: .init(), registry: registry)
    }

    /// The body of `x:1`, as text.
    private static func text(of loader: Loader) async throws -> String {
        String(decoding: try await loader.data(from: "x:1").0, as: UTF8.self)
    }

    @Test func deferredHandlersAreMadeAtTheFirstRequest() async throws {
        let registry = ProtocolRegistry()
        let provider = CountingProvider { [StubHandler(identifier: "made", schemes: .only(["x"])) { _ in .text("made") }] }
        registry.register(deferred: provider)
        registry.register(StubHandler(identifier: "y", schemes: .only(["y"])) { _ in .text("y") })
        let loader = Self.loader(registry)
        _ = try await loader.data(from: "y:1")
        #expect(provider.makeCount == 0)
        #expect(loader.schemes == ["x", "y"])
        for _ in 0..<3 { #expect(try await Self.text(of: loader) == "made") }
        #expect(provider.makeCount == 1)
        #expect(registry.handlers.map(\.identifier) == ["y", "made"])
    }

    @Test func loaderKnowsWhatItCanHandle() throws {
        let registry = ProtocolRegistry()
        let provider = CountingProvider { [StubHandler(identifier: "made", schemes: .only(["x"])) { _ in .text("made") }] }
        registry.register(deferred: provider)
        registry.register(StubHandler(identifier: "y", schemes: .only(["y"])) { _ in .text("y") })
        registry.register(RefusingHandler(identifier: "refusing"))
        let loader = Self.loader(registry)
        #expect(try loader.canHandle(Request("y:1")) && !loader.canHandle(Request("z:1")))
        #expect(provider.makeCount == 0)
        #expect(try loader.canHandle(Request("x:1")) && provider.makeCount == 1)
        #expect(!Self.loader(ProtocolRegistry()).canHandle(try Request("y:1")))
    }

    @Test func unsupportedSchemeMessageListsAtMostTwentySchemes() async throws {
        let registry = ProtocolRegistry()
        let names = (0..<1000).map { "s\(1000 + $0)" }
        for count in [20, 1000] {
            registry.register(StubHandler(identifier: "n\(count)", schemes: .only(Array(names.prefix(count)))) { _ in .text("") })
            let error = await #expect(throws: LoadError.self) { try await Self.loader(registry).data(from: "x:1") }
            let omission = count > 20 ? " and 980 more" : ""
            #expect(error?.message == "no handler takes 'x:' URLs; known schemes: \(names.prefix(20).joined(separator: ", "))\(omission)")
        }
    }

    @Test func deferredHandlersKeepTheirPrecedence() async throws {
        let registry = ProtocolRegistry()
        registry.register(StubHandler(identifier: "old", schemes: .only(["x"])) { _ in .text("old") })
        registry.register(
            deferred: CountingProvider {
                [
                    StubHandler(identifier: "first", schemes: .only(["x"])) { _ in .text("first") },
                    StubHandler(identifier: "second", schemes: .any) { _ in .text("second") },
                ]
            })
        registry.register(RefusingHandler(identifier: "new"))
        let candidates = try Self.loader(registry).handlerCandidates(for: Request("x:1"))
        #expect(candidates.map(\.handler) == ["new", "second"])
        #expect(registry.handlers.map(\.identifier) == ["new", "second", "first", "old"])
    }

    @Test func concurrentLoadsMakeTheHandlersOnce() async throws {
        let registry = ProtocolRegistry()
        let isReleased = ConditionLock(false)
        let provider = CountingProvider {
            isReleased.wait { $0 ? () : nil }
            return [StubHandler(schemes: .only(["x"])) { _ in .text("made") }]
        }
        registry.register(deferred: provider)
        let loader = Self.loader(registry)
        let delegates = (0..<50).map { _ in RecordingDelegate() }
        for delegate in delegates { try loader.task(for: Request("x:1"), delegate: delegate).resume() }
        #expect(delegates.allSatisfy { $0.events.isEmpty })
        isReleased.withLockBroadcasting { $0 = true }
        for delegate in delegates {
            await delegate.ended()
            #expect(delegate.text == "made")
        }
        #expect(provider.makeCount == 1)
    }

    @Test func aLoadThatWaitsForItsHandlerCanBeCancelled() async throws {
        let registry = ProtocolRegistry()
        let isReleased = ConditionLock(false)
        defer { isReleased.withLockBroadcasting { $0 = true } }
        registry.register(
            deferred: CountingProvider {
                isReleased.wait { $0 ? () : nil }
                return []
            })
        let delegate = RecordingDelegate()
        let task = try Self.loader(registry).task(for: Request("x:1"), delegate: delegate)
        task.resume()
        task.cancel()
        await delegate.ended()
        #expect(delegate.events == [.failed(.cancelled)])
    }

    @Test func failedProviderReportsItsErrorAndIsRetried() async throws {
        let registry = ProtocolRegistry()
        let isRepaired = Mutex(false)
        let provider = CountingProvider {
            guard isRepaired.withLock({ $0 }) else { throw LoadError(.pluginNotLoadable, message: "not there") }
            return [StubHandler(schemes: .only(["x"])) { _ in .text("made") }]
        }
        registry.register(deferred: provider)
        let loader = Self.loader(registry)
        let error = await #expect(throws: LoadError.self) { try await loader.data(from: "x:1") }
        #expect(error?.code == .pluginNotLoadable)
        #expect(try loader.handlerCandidates(for: Request("x:1")).map(\.refusal) == [.unavailable("not there")])
        isRepaired.withLock { $0 = true }
        #expect(try await Self.text(of: loader) == "made")
    }

    @Test func olderHandlerServesTheRequestIfAProviderFails() async throws {
        let registry = ProtocolRegistry()
        registry.register(StubHandler(identifier: "old", schemes: .only(["x"])) { _ in .text("old") })
        registry.register(deferred: CountingProvider { throw LoadError(.pluginNotLoadable, message: "not there") })
        #expect(try await Self.text(of: Self.loader(registry)) == "old")
    }

    @Test func unregisteringRemovesAllHandlersThatWereMade() async throws {
        let registry = ProtocolRegistry()
        let handlers = ["a", "b"].map { name in StubHandler(identifier: name, schemes: .only(["x"])) { _ in .text(name) } }
        let registration = registry.register(deferred: CountingProvider { handlers })
        _ = try await Self.loader(registry).data(from: "x:1")
        #expect(registry.unregister(registration).isFinished)
        #expect(registry.handlers.isEmpty && registry.schemes.isEmpty)
    }

    @Test func providerUnregisteredDuringMakeHandlersIsNotRestored() async throws {
        let registry = ProtocolRegistry()
        let registration = Mutex(Registration?.none)
        let provider = CountingProvider {
            if let registration = registration.withLock({ $0 }) { registry.unregister(registration) }
            return [StubHandler(schemes: .only(["x"])) { _ in .text("made") }]
        }
        let newRegistration = registry.register(deferred: provider)
        registration.withLock { $0 = newRegistration }
        let error = await #expect(throws: LoadError.self) { try await Self.loader(registry).data(from: "x:1") }
        #expect(error?.code == .unsupportedScheme)
        #expect(registry.handlers.isEmpty)
    }

    @Test func providerReplacedDuringMakeHandlersIsNotRestored() async throws {
        let registry = ProtocolRegistry()
        let registration = Mutex(Registration?.none)
        let provider = CountingProvider {
            if let registration = registration.withLock({ $0 }) {
                registry.replace(registration, with: [StubHandler(schemes: .only(["x"])) { _ in .text("replaced") }])
            }
            return [StubHandler(schemes: .only(["x"])) { _ in .text("made") }]
        }
        let newRegistration = registry.register(deferred: provider)
        registration.withLock { $0 = newRegistration }
        #expect(try await Self.text(of: Self.loader(registry)) == "replaced")
        #expect(registry.handlers.count == 1)
    }

    @Test func registryWithAnUnusedProviderIsFreed() throws {
        weak var weakRegistry: ProtocolRegistry?
        do {
            let registry = ProtocolRegistry()
            registry.register(deferred: CountingProvider { [] })
            weakRegistry = registry
            #expect(try Self.loader(registry).handlerCandidates(for: Request("y:1")).isEmpty)
        }
        #expect(weakRegistry == nil)
    }

    @Test(.timeLimit(.minutes(10))) func blockedDelegateDoesNotDelayOtherWaitingLoads() async throws {
        let registry = ProtocolRegistry()
        let isReleased = ConditionLock(false)
        registry.register(
            deferred: CountingProvider {
                isReleased.wait { $0 ? () : nil }
                return [StubHandler(schemes: .only(["x"])) { _ in .text("made") }]
            })
        let loader = Self.loader(registry)
        let hasEnded = ConditionLock(false)
        // The first delegate waits until the last load has ended, for at most 30 seconds.
        let lastLoadEnded = Mutex<Bool?>(nil)
        let first = RecordingDelegate { event, _ in
            if case .response = event { lastLoadEnded.withLock { $0 = hasEnded.wait(atMost: .seconds(30)) { $0 ? true : nil } } }
            return .keepGoing
        }
        let last = RecordingDelegate { event, _ in
            if event == .finished { hasEnded.withLockBroadcasting { $0 = true } }
            return .keepGoing
        }
        let delegates = [first, RecordingDelegate(), last]
        for delegate in delegates { try loader.task(for: Request("x:1"), delegate: delegate).resume() }
        isReleased.withLockBroadcasting { $0 = true }
        for delegate in delegates { await delegate.ended() }
        #expect(lastLoadEnded.withLock { $0 } == true)
    }

    @Test func providerFailureIsLoggedAsAWarningOncePerMessage() async throws {
        let registry = ProtocolRegistry()
        let message = Mutex("not there")
        registry.register(deferred: CountingProvider { throw LoadError(.pluginNotLoadable, message: message.withLock { $0 }) })
        let lines = ConditionLock<[String]>([])
        var configuration = Loader.Configuration()
        configuration.logger = Logger(label: "test") { _ in HandlerLog(lines: lines) }
        let loader = Loader(configuration: configuration, registry: registry)
        for _ in 0..<3 { await #expect(throws: LoadError.self) { try await loader.data(from: "x:1") } }
        message.withLock { $0 = "no library" }
        await #expect(throws: LoadError.self) { try await loader.data(from: "x:1") }
        #expect(lines.withLock { $0 } == ["warning not there", "debug not there", "debug not there", "warning no library"])
    }
}

/// A log handler that records the level and the text of each message about a handler.
private struct HandlerLog: LogHandler {
    let lines: ConditionLock<[String]>
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        guard event.metadata?["handler"] != nil else { return }  // a message about a load
        lines.withLockBroadcasting { $0.append("\(event.level) \(event.message)") }
    }
}

/// A provider of handlers for `x:` that counts its calls.
private final class CountingProvider: HandlerProvider {
    let identifier = "org.example.provider"
    let schemes = SchemeSet.only(["x"])
    private let count = Atomic(0)
    private let make: @Sendable () throws -> [any ProtocolHandler]

    init(_ make: @escaping @Sendable () throws -> [any ProtocolHandler]) {
        self.make = make
    }

    var makeCount: Int { count.load(ordering: .relaxed) }

    func makeHandlers() throws(LoadError) -> [any ProtocolHandler] {
        count.add(1, ordering: .relaxed)
        do {
            return try make()
        } catch {
            throw error as? LoadError ?? LoadError(.unknown, message: "\(error)")
        }
    }
}

private struct RefusingHandler: ProtocolHandler {
    let identifier: String
    let schemes = SchemeSet.any

    func canInit(_ request: Request) -> Bool { false }
    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        FailedLoad(LoadError(.unknown, message: "this handler accepts no request"), client: client)
    }
}
