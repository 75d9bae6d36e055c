// SPDX-License-Identifier: Apache-2.0

public import Logging

/// Loads URLs of every scheme for which a handler is registered.
///
/// A loader's own handlers have precedence over those of the registry that it was made with. Any thread.
public final class Loader: Sendable {
    public let configuration: Configuration
    /// The loader's own handlers.
    public let handlers = ProtocolRegistry()
    /// The handlers that it shares with other loaders.
    package let sharedHandlers: ProtocolRegistry
    private let logsSteps: Bool

    /// - Parameters:
    ///   - configuration: copied; later changes to the value have no effect.
    ///   - registry: handlers with lower precedence than the configuration's own.
    public init(configuration: Configuration, registry: ProtocolRegistry) {
        self.configuration = configuration
        logsSteps = configuration.logger.logLevel <= .debug
        sharedHandlers = registry
        for handler in configuration.handlers.reversed() { handlers.register(handler) }
    }

    /// The settings of a loader.
    public struct Configuration: Sendable {
        /// The loader's own handlers. The first one has precedence.
        public var handlers: [any ProtocolHandler] = []
        /// The limits for requests that have none of their own set.
        public var timeouts = Timeouts(idle: .seconds(60))
        public var redirects = RedirectPolicy()
        /// The maximum depth of nested loads.
        public var nestingLimit = 8
        /// The largest body in bytes that ``Loader/data(for:delegate:)`` and similar methods take into memory.
        public var maximumBodySizeInMemory: Int64 = 1 << 30
        /// How many bytes of body may wait for a slow reader before the handler is paused. For a delegate on a queue,
        /// each piece counts as 64 bytes more than its size. A load for which more than 16,384 events wait fails with
        /// ``LoadError/Code/limitExceeded``.
        public var bufferSize = 512 << 10
        /// How many interim responses (1xx) a handler may report for one request. One more fails the load with
        /// ``LoadError/Code/limitExceeded``. `HTTPLimits` has its own lower limit for each response.
        public var maximumInterimResponsesPerRequest = 128
        package var clock: any LoadClock = SystemClock.shared
        /// Receives violations of the contract and plugins that can't be loaded, as warnings. If its level is `debug`
        /// when the loader is made, also the steps of each load: handler, connection, transfer, redirect and end.
        /// Passwords in URLs are left out.
        public var logger = Logger(label: "org.portolan.loader")
        /// Receives each violation of the contract, also those after a load's end, which cannot fail the load. Any
        /// thread. The logger records the first violation of each load, and one line with the number of the others when
        /// the load is released.
        package var violationObserver: (@Sendable (_ rule: ContractRule, _ handler: String) -> Void)?

        /// The stored cookies; `nil` for none. `Loader.Configuration.cookies` sets it.
        package var cookiePolicy: (any LoadPolicy)?
        /// The hosts that are loaded over secure connections only; `Loader.Configuration.strictTransportSecurity` sets
        /// it.
        package var upgradePolicy: (any UpgradePolicy)?

        public init() {}
    }

    // MARK: Handlers

    /// The schemes for which a handler is registered here, in lexical order.
    public var schemes: [String] {
        Set(handlers.schemes).union(sharedHandlers.schemes).sorted()
    }

    /// Returns the handlers that a look-up for `request` reaches, with the decision of each, up to the one that takes
    /// it.
    ///
    /// Handlers that are not made yet are made for this, which opens a plugin's library. Blocks until that is done.
    package func handlerCandidates(for request: Request) -> [HandlerCandidate] {
        var failed: [(LazyHandlers, LoadError)] = []
        while true {
            let (asked, needed) = handlerCandidates(for: request, failed: failed)
            guard let needed else { return asked }
            do throws(LoadError) { try needed.resolve() } catch { failed.append((needed, error)) }
        }
    }

    private func handlerCandidates(
        for request: Request, failed: [(LazyHandlers, LoadError)]
    ) -> (asked: [HandlerCandidate], needed: LazyHandlers?) {
        let own = handlers.snapshot().handlerCandidates(for: request, failed: failed)
        if own.needed != nil || (own.asked.last.map { $0.refusal == nil } ?? false) { return own }
        let shared = sharedHandlers.snapshot().handlerCandidates(for: request, failed: failed)
        return (own.asked + shared.asked, shared.needed)
    }

    /// Returns the handler that takes `request`, or the handlers that must be made first.
    ///
    /// - Parameter failed: handlers that could not be made, with the reasons.
    /// - Throws: the first of those reasons, or ``LoadError/Code/unsupportedScheme``, if no handler takes the request;
    ///   ``LoadError/Code/notOffered`` for ``CachePolicy/onlyCached``, for which no load is made
    ///   until there is a cache.
    func find(_ request: Request, failed: [(deferred: LazyHandlers, error: LoadError)]) throws(LoadError) -> RegistryIndex.Finding {
        guard request.cachePolicy != .onlyCached else {
            throw LoadError(
                .notOffered,
                message: "\(request.url.shortDescription) must come from the cache, and there is no cache yet; use another cache policy")
        }
        if let target = configuration.upgradePolicy?.upgraded(request.url) {
            let upgrade = RegisteredHandler(UpgradeHandler(to: target), registration: 0, isUpgrade: true)
            if upgrade.beginLoad() { return .handler(upgrade) }
        }
        let excluded = failed.map(\.deferred)
        if let finding = handlers.find(request, excluding: excluded) ?? sharedHandlers.find(request, excluding: excluded) { return finding }
        throw failed.first?.error ?? unsupported(request)
    }

    /// Lists the schemes for a message, which stays short however many are installed.
    package static func list(_ schemes: [String]) -> String {
        let most = 20
        let rest = schemes.count > most ? " and \(schemes.count - most) more" : ""
        return schemes.prefix(most).joined(separator: ", ") + rest
    }

    private func unsupported(_ request: Request) -> LoadError {
        let scheme = String(request.url.scheme)
        let known = schemes
        guard known.contains(scheme) else {
            let list = known.isEmpty ? "none; register a handler" : Self.list(known)
            return LoadError(.unsupportedScheme, message: "no handler takes '\(scheme):' URLs; known schemes: \(list)")
        }
        let candidates = handlerCandidates(for: request)
        let asked = candidates.map { "\($0.handler) \($0.refusal?.reason ?? "takes it")" }.joined(separator: ", ")
        let remedy = candidates.contains { $0.refusal == .ownRequest } ? "; use another URL for the nested load" : ""
        return LoadError(
            .unsupportedScheme,
            message:
                "no handler takes \(request.url.shortDescription), though '\(scheme):' is known: \(asked.isEmpty ? "none was asked" : asked)\(remedy)"
        )
    }

    /// Applies the policies of this loader to the request of a load by `handler`.
    ///
    /// - Parameter request: as the handler gets it.
    /// - Returns: the client for the load's events.
    func applyPolicies(to request: inout Request, of handler: any ProtocolHandler, client: any ProtocolClient) -> any ProtocolClient {
        guard let cookiePolicy = configuration.cookiePolicy, handler.traits.contains(.cookies) else { return client }
        return cookiePolicy.apply(to: &request, next: client)
    }

    /// Lets the policies learn from a response.
    func note(_ response: Response) {
        if response.isVerified { configuration.upgradePolicy?.note(response) }
    }

    /// Logs a repeated failure below warning level, because thousands of requests may need the same handlers.
    func report(_ error: LoadError, of deferred: LazyHandlers) {
        let level: Logger.Level = deferred.isNews(error) ? .warning : .debug
        configuration.logger.log(level: level, "\(error.message)", metadata: ["handler": "\(deferred.source.identifier)"])
    }

    /// Logs a step of a load at the level `debug`.
    func logStep(_ step: @autoclosure () -> String, of task: LoadTask) {
        guard logsSteps else { return }
        configuration.logger.debug("\(step())", metadata: ["url": "\(task.originalRequest.url.redacted)"])
    }

    func report(violationOf rule: ContractRule, by handler: String, logging isLogged: Bool) {
        if isLogged {
            configuration.logger.warning("contract broken: \(rule.sentence)", metadata: ["rule": "\(rule.id)", "handler": "\(handler)"])
        }
        configuration.violationObserver?(rule, handler)
    }

    /// - Parameter counts: how often a load violated each rule after its first violation.
    func report(repeated counts: [ContractRule: Int], by handler: String) {
        let total = counts.values.reduce(0, +)
        let list = counts.sorted { $0.key.id < $1.key.id }.map { "\($0.key.id): \($0.value)" }.joined(separator: ", ")
        configuration.logger.warning(
            "contract broken \(total) more \(total == 1 ? "time" : "times") by the same load (\(list))", metadata: ["handler": "\(handler)"]
        )
    }
}
