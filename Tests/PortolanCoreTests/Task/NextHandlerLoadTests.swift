// SPDX-License-Identifier: Apache-2.0

import PortolanTestSupport
import Synchronization
import Testing

@testable import PortolanCore

/// Handlers that load their request with the next handler (`makeLoadByNextHandler`).
@Suite(.timeLimit(.minutes(2))) struct NextHandlerLoadTests {
    @Test(arguments: [1, 2, 3]) func eventsOfTheNextHandlerAreDeliveredUnchanged(layers: Int) throws {
        let inner = ManualHandler()
        let delegate = RecordingDelegate()
        let names = (0..<layers).map { "org.example.front\($0)" }
        loader(handlers: names.map { ForwardingHandler(identifier: $0) } + [inner]).task(for: try Request("x:1"), delegate: delegate)
            .resume()
        let load = try #require(inner.loads.first)
        load.client.didReach(.connected)
        load.respond()
        load.deliver([1, 2])
        load.finish()
        let url = try URLRecord(parsing: "x:1")
        #expect(delegate.events == [.step(.connected), .response(url), .data([1, 2]), .finished])
    }

    @Test func redirectTargetIsLoadedThroughTheFirstHandler() throws {
        let requestedURLs = Mutex<[String]>([])
        let delegate = RecordingDelegate()
        let target = try URLRecord(parsing: "x:2")
        let nextHandler = StubHandler { $0.url == target ? .text("there") : .redirect(to: target) }
        let forwardingHandler = ForwardingHandler { request in requestedURLs.withLock { $0.append(request.url.description) } }
        loader(handlers: [forwardingHandler, nextHandler]).task(for: try Request("x:1"), delegate: delegate).resume()
        #expect(requestedURLs.withLock { $0 } == ["x:1", "x:2"])
        #expect(delegate.text == "there" && delegate.events.first == .redirect(target))
    }

    @Test(arguments: [false, true]) func redirectDecidedLaterContinues(isFollowed: Bool) throws {
        let decision = Mutex<(@Sendable (RedirectDecision) -> Void)?>(nil)
        let delegate = RecordingDelegate(onRedirect: { _, decide in decision.withLock { $0 = decide } })
        let target = try URLRecord(parsing: "x:2")
        let nextHandler = StubHandler { $0.url == target ? .text("there") : .redirect(to: target) }
        loader(handlers: [ForwardingHandler(), nextHandler]).task(for: try Request("x:1"), delegate: delegate).resume()
        #expect(delegate.events == [.redirect(target)])
        let decide = try #require(decision.withLock { $0.take() })
        decide(isFollowed ? .follow(try Request("x:2")) : .deliver)
        #expect(delegate.text == (isFollowed ? "there" : "") && delegate.events.last == .finished)
    }

    @Test func aPauseReachesTheNextLoad() throws {
        let inner = ManualHandler()
        let delegate = RecordingDelegate { event, _ in event == .data([1]) ? .pause : .keepGoing }
        let task = loader(handlers: [ForwardingHandler(), inner]).task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let load = try #require(inner.loads.first)
        load.respond()
        #expect(load.deliver([1]) == .pause)
        task.resume()
        #expect(load.calls == [.start, .resume])
    }

    @Test func stopReachesTheNextLoadWithoutFurtherEvents() throws {
        let (inner, delegate) = (ManualHandler(), RecordingDelegate())
        let violations = Mutex(0)
        let task = loader(handlers: [ForwardingHandler(), inner]) { $0.violationObserver = { _, _ in violations.withLock { $0 += 1 } } }
            .task(for: try Request("x:1"), delegate: delegate)
        task.resume()
        let load = try #require(inner.loads.first)
        load.respond()
        task.cancel()
        #expect(load.calls == [.start, .stop] && delegate.events.last == .failed(.cancelled) && violations.withLock { $0 } == 0)
    }

    /// The delegate answers immediately. Neither of the two loads continues before the delivery of the challenge
    /// returns.
    @Test func challengeIsAnsweredAfterItsDeliveryReturns() throws {
        let inner = ManualHandler { load in
            let space = ProtectionSpace(kind: .password(scheme: ""), protocolName: "x", host: "h")
            load.client.didReceive(
                AuthenticationChallenge(protectionSpace: space) { answer in
                    load.respond()
                    if case .use(.password(let user, _, _)) = answer { load.deliver(user) }
                    load.finish()
                })
        }
        let delegate = RecordingDelegate(onChallenge: { $0.answer(.use(.password(user: "me", password: ""))) })
        loader(handlers: [ForwardingHandler(), inner]).task(for: try Request("x:1"), delegate: delegate).resume()
        #expect(delegate.text == "me" && delegate.events.first == .challenge && delegate.events.last == .finished)
    }

    @Test func violationNamesTheNextHandler() throws {
        let (inner, delegate) = (ManualHandler(identifier: "org.example.behind"), RecordingDelegate())
        loader(handlers: [ForwardingHandler(), inner]).task(for: try Request("x:1"), delegate: delegate).resume()
        try #require(inner.loads.first).deliver([1])
        #expect(delegate.error?.code == .protocolViolation && delegate.error?.message.contains("org.example.behind") == true)
    }

    @Test func loadFailsIfThereIsNoNextHandler() throws {
        let delegate = RecordingDelegate()
        loader(handlers: [ForwardingHandler()]).task(for: try Request("x:1"), delegate: delegate).resume()
        #expect(delegate.error?.code == .unsupportedScheme)
    }

    @Test func deferredHandlerCanBeTheNextHandler() async throws {
        struct StubProvider: HandlerProvider {
            let identifier = "org.example.source"
            let schemes = SchemeSet.only(["x"])
            func makeHandlers() throws(LoadError) -> [any ProtocolHandler] { [StubHandler { _ in .text("made") }] }
        }
        let registry = ProtocolRegistry()
        registry.register(deferred: StubProvider())
        registry.register(ForwardingHandler())
        let (body, _) = try await Loader(configuration: .init(), registry: registry).data(from: "x:1")
        #expect(String(decoding: body, as: UTF8.self) == "made")
    }
}

/// A handler that forwards every event of the next handler.
private struct ForwardingHandler: ProtocolHandler {
    var identifier = "org.example.front"
    var schemes = SchemeSet.any
    var traits: HandlerTraits { .stopsAsynchronously }
    var onLoad: @Sendable (Request) -> Void = { _ in }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        ForwardingLoad(request, client, onLoad)
    }
}

private final class ForwardingLoad: ProtocolLoad {
    private let request: Request
    private let client: any ProtocolClient
    private let onLoad: @Sendable (Request) -> Void
    private let next = Mutex<(any ProtocolLoad)?>(nil)

    init(_ request: Request, _ client: any ProtocolClient, _ onLoad: @escaping @Sendable (Request) -> Void) {
        (self.request, self.client, self.onLoad) = (request, client, onLoad)
    }

    func startLoading() {
        onLoad(request)
        let load = client.makeLoadByNextHandler(for: request, client: client)
        next.withLock { $0 = load }
        load.startLoading()
    }
    func stopLoading() { next.withLock { $0 }?.stopLoading() }
    func resumeLoading() { next.withLock { $0 }?.resumeLoading() }
}
