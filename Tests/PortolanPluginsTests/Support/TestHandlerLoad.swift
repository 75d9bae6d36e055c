// SPDX-License-Identifier: Apache-2.0

import Logging
import PortolanCore
import PortolanPlugins
import PortolanTestSupport

/// One load of a plugin's handler behind the core's ``HandlerLoad``, with all violations recorded.
final class TestHandlerLoad: HandlerLoadObserver {
    private struct State {
        var violations: [ContractRule] = []
        var isEnded = false
    }

    let client: RecordingClient
    let handlerLoad: HandlerLoad
    private let handler: any ProtocolHandler
    private let request: Request
    private let cached: CachedResponse?
    private let state = ConditionLock(State())

    init(
        _ handler: any ProtocolHandler, _ request: Request, cached: CachedResponse? = nil, client: RecordingClient = RecordingClient()
    ) {
        let relay = ObserverRelay()
        self.handler = handler
        self.request = request
        self.cached = cached
        self.client = client
        handlerLoad = HandlerLoad(
            handler: handler.identifier, traits: handler.traits, request: request, offersCachedResponse: cached != nil, next: client,
            observer: relay)
        relay.target = self
    }

    convenience init(_ plugin: Plugin, _ request: Request, client: RecordingClient = RecordingClient()) throws {
        guard let handler = plugin.handlers.first(where: { $0.schemes.contains(request.url.scheme) }) else {
            throw LoadError(.unsupportedScheme, message: "no handler of \(plugin.identifier) takes \(request.url)")
        }
        self.init(handler, request, client: client)
    }

    convenience init(_ plugin: Plugin, _ url: String, client: RecordingClient = RecordingClient()) throws {
        try self.init(plugin, Request(url), client: client)
    }

    /// Creates the load and starts it.
    func start() {
        handlerLoad.start(handler.makeLoad(for: request, cachedResponse: cached, client: handlerLoad))
    }

    /// Starts the load and waits until it has ended.
    func run() {
        start()
        waitUntilEnded()
    }

    func waitUntilEnded() {
        state.wait { $0.isEnded ? () : nil }
    }

    /// The violated rules, in the order of their detection.
    var violations: [ContractRule] { state.withLock { $0.violations } }

    func handlerLoadObserved(violationOf rule: ContractRule, by handler: String, isFirst: Bool) {
        state.withLock { $0.violations.append(rule) }
    }

    func handlerLoadEnded() {
        state.withLockBroadcasting { $0.isEnded = true }
    }
}

/// Forwards to a ``TestHandlerLoad``, which does not exist when the handler load is created.
private final class ObserverRelay: HandlerLoadObserver, @unchecked Sendable {  // … because `target` is set before the load starts
    weak var target: TestHandlerLoad?

    func handlerLoadObserved(violationOf rule: ContractRule, by handler: String, isFirst: Bool) {
        target?.handlerLoadObserved(violationOf: rule, by: handler, isFirst: isFirst)
    }
    func handlerLoadEnded() { target?.handlerLoadEnded() }
}
