// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import Logging
import Synchronization

/// Loads URLs of every scheme for which a handler is registered.
///
/// A loader's own handlers have precedence over the handlers of its registry. Can be used on any thread.
public final class Loader: Sendable {
    public let configuration: Configuration
    /// The loader's own handlers.
    public let handlers: ProtocolRegistry
    /// The handlers that this loader shares with other loaders.
    package let sharedHandlers: ProtocolRegistry
    let logsSteps: Bool
    /// The interceptors of the configuration that capture something when a task is made.
    let capturingInterceptors: [Interceptor]
    let backgroundLoads = BackgroundLoads()
    /// `nil` if no rate is limited.
    let rateLimits: RateLimits?
    let startedTasks = StartedTasks()
    /// The delegate of tasks without one; `nil` if there is none, or after the end of the loader.
    let sessionDelegate: Mutex<(any LoaderDelegate)?>
    /// Identifies the delegate also after the end of the loader; `nil` if there is none.
    let sessionDelegateIdentifier: ObjectIdentifier?
    /// The delegate of a new task without a delegate of its own.
    package var delegateOfNewTasks: (any LoaderDelegate)? { sessionDelegate.withLock { $0 } }

    /// - Parameters:
    ///   - configuration: copied; later changes to the value have no effect.
    ///   - registry: handlers with lower precedence than the handlers of the configuration.
    ///   - delegate: retained until the loader is invalidated, or released.
    public init(configuration: Configuration, registry: ProtocolRegistry, delegate: (any LoaderDelegate)? = nil) {
        self.configuration = configuration
        sessionDelegate = Mutex(delegate)
        sessionDelegateIdentifier = delegate.map { ObjectIdentifier($0) }
        logsSteps = configuration.logger.logLevel <= .debug
        capturingInterceptors = configuration.handlers.compactMap { $0 as? Interceptor }.filter { $0.capture != nil }
        sharedHandlers = registry
        handlers = ProtocolRegistry()
        rateLimits = RateLimits(configuration)
        for handler in configuration.handlers.reversed() { handlers.register(handler) }
    }

    /// Makes a loader for the background loads of another one, with the same handlers. It does not retain that loader,
    /// so that the background loads can end with it.
    init(forBackgroundLoadsOf loader: Loader) {
        configuration = loader.configuration
        sessionDelegate = Mutex(nil)
        sessionDelegateIdentifier = nil
        (handlers, sharedHandlers, logsSteps) = (loader.handlers, loader.sharedHandlers, loader.logsSteps)
        capturingInterceptors = loader.capturingInterceptors
        rateLimits = loader.rateLimits
    }

    deinit { backgroundLoads.cancel() }

    /// Returns the contexts of a new task.
    ///
    /// - Parameter parent: the parent of a nested task, which has the same contexts; `nil` for a task of the caller.
    func captureContexts(for parent: LoadTask?) -> [String: any Sendable] {
        if let parent { return parent.originalRequest.capturedContexts }
        return Dictionary(capturingInterceptors.compactMap { one in one.capture.map { (one.identifier, $0()) } }) { first, _ in first }
    }

    /// The settings of a loader.
    public struct Configuration: Sendable {
        /// The loader's own handlers, in order of precedence.
        public var handlers: [any ProtocolHandler] = []
        /// The limits for requests that set none.
        public var timeouts = Timeouts(idle: .seconds(60))
        public var redirects = RedirectPolicy()
        /// Which failed loads are tried again; `nil` for none.
        public var retries: RetryPolicy?
        /// Whether a load waits for a network, instead of failing, if the system has none: no route leads to the host,
        /// or no name server can be reached. The delegate receives
        /// ``LoadDelegate/loadTaskIsWaitingForConnectivity(_:)``.
        ///
        /// A waiting load is tried again when the system's links, addresses or routes change (rtnetlink(7)), and
        /// otherwise after 1, 2, 4, 8 and 16 seconds, and then every 30 seconds. The time of the wait counts for the
        /// total limit, but not for the idle limit. A load that has received a response does not wait, and neither does
        /// one whose body can't be read again. Without effect in nested loads.
        public var waitsForConnectivity = false
        /// The URL to which relative URLs as text refer, as in `Loader.data(from:)`; `nil` for none.
        ///
        /// A base for paths ends with `/`: from `https://example.org/v1/`, `users/7` leads to
        /// `https://example.org/v1/users/7`, and `/users/7` to `https://example.org/users/7` (WHATWG URL).
        public var baseURL: URLRecord?
        /// Header fields for each request that has no field of the same name. They go to every host for which the
        /// caller makes a request. A redirect to another origin removes those with credentials. Nested loads do not
        /// have them.
        public var defaultFields = HTTPFields()
        /// The maximum number of body bytes that all loads of the loader together receive in a second; `nil` for no
        /// limit. A handler is paused while the loader has received more.
        ///
        /// The bytes are counted as they are delivered: after decompression, and whatever the scheme is. The rate is
        /// kept on average, because a delivery can have more bytes than fit in the time that has passed.
        public var maximumReceiveRate: Int?
        /// The maximum number of body bytes that all loads of the loader together send in a second; `nil` for no limit.
        public var maximumSendRate: Int?
        /// The maximum depth of nested loads.
        public var nestingLimit = 8
        /// The largest body in bytes that ``Loader/data(for:delegate:)`` and similar methods load into memory.
        public var maximumBodySizeInMemory: Int64 = 1 << 30
        /// The number of body bytes that can wait for a slow reader. If more wait, the handler is paused. For a
        /// delegate on a queue, each piece counts as 64 bytes more than its size. If more than 16,384 events of a load
        /// wait, the load fails with ``LoadError/Code/limitExceeded``.
        public var bufferSize = 512 << 10
        /// The maximum number of interim responses (1xx) that a handler may report for one request. One more fails the
        /// load with ``LoadError/Code/limitExceeded``. `HTTPLimits` has a lower limit for those before one final
        /// response. Interim responses with the status 104, which report the progress of an upload, have 512 times this
        /// limit.
        public var maximumInterimResponsesPerRequest = 128
        package var clock: any LoadClock = SystemClock.shared
        package var networkChanges = NetworkChanges.shared
        /// Logs violations of the contract, and plugins that can't be loaded, as warnings. If its level is `debug` or
        /// `trace` when the loader is made, it also logs the steps of each load: handlers, connection, transfer,
        /// redirect and end. The metadata `request` is the number of the request that a step belongs to.
        ///
        /// Each message is one line, without the user names and passwords of URLs.
        public var logger = Logger(label: "org.portolan.loader")
        /// Receives each violation of the contract, also violations after a load's end, which cannot fail the load. Any
        /// thread. The logger logs only the first violation of each load, and the number of its other violations when
        /// the load is released.
        package var violationObserver: (@Sendable (_ rule: ContractRule, _ handler: String) -> Void)?

        /// The user names and passwords that loads propose to servers and proxies that ask for them; `nil` for none. A
        /// credential in the URL has precedence.
        public var credentials: CredentialStorage?
        /// A netrc file; `nil` for none. Loads propose its passwords to servers that ask for one, after the passwords
        /// of the URL and of ``credentials``. Proxies do not receive the passwords of the file.
        public var netrc: NetrcFile?
        /// The policy that applies stored cookies; `nil` for none. `Loader.Configuration.cookies` sets it.
        package var cookiePolicy: (any LoadPolicy)?
        /// The policy that knows the hosts for secure connections only (HSTS); `nil` for none.
        /// `Loader.Configuration.strictTransportSecurity` sets it.
        package var upgradePolicy: (any UpgradePolicy)?
        /// The cache for stored responses; `nil` for none. `Loader.Configuration.cache` sets it.
        package var responseCache: (any LoadCache)?
        /// The part of the cache that a request uses; `nil` if all requests share the cache.
        package var cachePartition: (@Sendable (Request) -> String)?

        public init() {}
    }

    // MARK: Handlers

    /// The schemes of all handlers of this loader, in lexical order.
    public var schemes: [String] {
        Set(handlers.schemes).union(sharedHandlers.schemes).sorted()
    }

    /// Whether a handler would load the request now. Nothing is sent.
    ///
    /// If no other handler accepts the request, this opens the libraries of the plugins that could, and blocks until
    /// that is done. A load can still fail with ``LoadError/Code/unsupportedScheme``, if it leads to another scheme.
    public func canHandle(_ request: Request) -> Bool {
        handlerCandidates(for: request).last.map { $0.refusal == nil } ?? false
    }

    /// Returns the handlers that a look-up for `request` considers, with the decision of each, up to the handler that
    /// serves the request.
    ///
    /// Makes handlers that are not made yet, which opens the library of a plugin. Blocks until that is done.
    package func handlerCandidates(for request: Request) -> [HandlerCandidate] {
        var unavailableHandlers: [(LazyHandlers, LoadError)] = []
        while true {
            let (candidates, unresolved) = handlerCandidates(for: request, unavailableHandlers: unavailableHandlers)
            guard let unresolved else { return candidates }
            do throws(LoadError) { try unresolved.resolve() } catch { unavailableHandlers.append((unresolved, error)) }
        }
    }

    private func handlerCandidates(
        for request: Request, unavailableHandlers: [(LazyHandlers, LoadError)]
    ) -> (candidates: [HandlerCandidate], unresolved: LazyHandlers?) {
        let own = handlers.snapshot().handlerCandidates(for: request, unavailableHandlers: unavailableHandlers)
        if own.unresolved != nil || (own.candidates.last.map { $0.refusal == nil } ?? false) { return own }
        let shared = sharedHandlers.snapshot().handlerCandidates(for: request, unavailableHandlers: unavailableHandlers)
        return (own.candidates + shared.candidates, shared.unresolved)
    }

    /// Returns the handler that serves `request`, or the handlers that must be made before the look-up can continue.
    ///
    /// - Parameter unavailableHandlers: the handlers that could not be made, with the reasons.
    /// - Throws: the first of those reasons, or ``LoadError/Code/unsupportedScheme``, if no handler serves the request;
    ///   ``LoadError/Code/notOffered`` for ``CachePolicy/onlyCached`` without a cache.
    func find(_ request: Request, unavailableHandlers: [(deferred: LazyHandlers, error: LoadError)]) throws(LoadError)
        -> RegistryIndex.LookUpResult
    {
        guard request.cachePolicy != .onlyCached || configuration.responseCache != nil else {
            throw LoadError(
                .notOffered,
                message: "\(request.url.shortDescription) must come from the cache, and the loader has no cache; use another cache policy, "
                    + "or set Loader.Configuration.cache")
        }
        if let target = configuration.upgradePolicy?.upgraded(request.url) {
            let upgrade = RegisteredHandler(UpgradeHandler(to: target), registration: 0, upgradesToHTTPS: true)
            if upgrade.beginLoad() { return .handler(upgrade) }
        }
        let excluded = unavailableHandlers.map(\.deferred)
        if let result = handlers.find(request, excluding: excluded) ?? sharedHandlers.find(request, excluding: excluded) {
            return try withCache(result, for: request)
        }
        throw unavailableHandlers.first?.error ?? unsupportedSchemeError(request)
    }

    /// Puts the cache in front of a handler whose responses it can store.
    ///
    /// - Throws: ``LoadError/Code/notOffered`` for ``CachePolicy/onlyCached`` if the responses can't be stored.
    private func withCache(_ result: RegistryIndex.LookUpResult, for request: Request) throws(LoadError) -> RegistryIndex.LookUpResult {
        guard let cache = configuration.responseCache, case .handler(let entry) = result else { return result }
        guard entry.handler.traits.contains(.cacheable) else {
            // An interceptor passes the request on to a handler, which is found later.
            guard request.cachePolicy == .onlyCached, !(entry.handler is Interceptor) else { return result }
            entry.endLoad()
            throw LoadError(
                .notOffered,
                message:
                    "\(request.url.shortDescription) must come from the cache, and responses of \(entry.handler.identifier) are not stored; "
                    + "use another cache policy")
        }
        guard let handler = cache.makeHandler(inFrontOf: entry, for: request, loader: self) else { return result }
        return .handler(RegisteredHandler(handler, inFrontOf: entry))
    }

    /// Lists at most 20 schemes for a message.
    package static func list(_ schemes: [String]) -> String {
        let maximumCount = 20
        let rest = schemes.count > maximumCount ? " and \(schemes.count - maximumCount) more" : ""
        return schemes.prefix(maximumCount).joined(separator: ", ") + rest
    }

    private func unsupportedSchemeError(_ request: Request) -> LoadError {
        let scheme = String(request.url.scheme)
        let knownSchemes = schemes
        guard knownSchemes.contains(scheme) else {
            let list = knownSchemes.isEmpty ? "none; register a handler" : Self.list(knownSchemes)
            return LoadError(
                .unsupportedScheme, message: "no handler takes '\(scheme):' URLs; known schemes: \(list)\(invalidSchemeNote ?? "")")
        }
        let candidates = handlerCandidates(for: request)
        let decisions = candidates.map { "\($0.handler) \($0.refusal?.reason ?? "takes it")" }.joined(separator: ", ")
        let remedy = candidates.contains { $0.refusal == .ownRequest } ? "; use another URL for the nested load" : ""
        return LoadError(
            .unsupportedScheme,
            message:
                "no handler takes \(request.url.shortDescription), though '\(scheme):' is known: \(decisions.isEmpty ? "none was asked" : decisions)\(remedy)"
        )
    }

    /// The part of a message about a handler for a scheme that no URL can have, such as `my scheme`; `nil` if there is
    /// none.
    private var invalidSchemeNote: String? {
        for handler in handlers.handlers + sharedHandlers.handlers {
            guard case .only(let schemes) = handler.schemes else { continue }
            for scheme in schemes {
                // `try?` because the error of the parser says nothing about the handler.
                let url = try? URLRecord(parsing: "\(scheme):x")
                if url.map({ $0.scheme == scheme.lowercased() }) != true {
                    return "; the handler \(handler.identifier) names \(QuotedText(scheme)), which is not a URL scheme (RFC 3986 §3.1)"
                }
            }
        }
        return nil
    }

    /// A request as a handler loads it, with the handler and the client of the load.
    struct PreparedLoad {
        /// The handler that was found, or the handler behind the cache if the cache has no answer.
        let entry: RegisteredHandler
        let canonical: Request
        /// The canonical request with what the policies have added.
        let request: Request
        let client: any ProtocolClient
    }

    /// Makes the request that a handler receives, and the client for its load's events.
    func prepare(_ request: Request, for entry: RegisteredHandler, client: any ProtocolClient, task: LoadTask) -> PreparedLoad {
        let canonical = entry.handler.canonicalRequest(for: request)
        var sent = canonical
        guard let cacheHandler = entry.cacheHandler, let next = entry.next else {
            let client = applyPolicies(to: &sent, of: entry.handler, client: client, task: task)
            return PreparedLoad(entry: entry, canonical: canonical, request: sent, client: client)
        }
        guard let fillClient = cacheHandler.makeFillClient(for: canonical, next: client) else {
            return PreparedLoad(entry: entry, canonical: canonical, request: canonical, client: client)
        }
        let client = applyPolicies(to: &sent, of: next.handler, client: fillClient, task: task)
        fillClient.willSend(sent)
        return PreparedLoad(entry: next, canonical: canonical, request: sent, client: client)
    }

    /// Applies the policies of this loader to the request of a load by `handler`.
    ///
    /// - Parameter request: changed to the request that the handler receives.
    /// - Returns: the client for the load's events.
    private func applyPolicies(
        to request: inout Request, of handler: any ProtocolHandler, client: any ProtocolClient, task: LoadTask
    ) -> any ProtocolClient {
        addCredential(to: &request, of: task)
        // An upgrade sends nothing. The cast takes longer than the rest of this function.
        defer { if logsSteps, !(handler is UpgradeHandler) { logAccess(of: request, task) } }
        guard let cookiePolicy = configuration.cookiePolicy, handler.traits.contains(.cookies) else { return client }
        var log: (@Sendable (String) -> Void)?
        if logsSteps { log = { [weak task] fact in if let task { task.loader.logAccess(fact, of: task) } } }
        return cookiePolicy.apply(to: &request, next: client, log: log)
    }

    /// Adds the protection space that contains the request's URL, for handlers that can send its credential without a
    /// challenge. A credential of this load has precedence over a credential of the storage.
    private func addCredential(to request: inout Request, of task: LoadTask) {
        var match = request.usesAuthenticatedSpaces ? configuration.credentials?.authenticatedSpaces.match(for: request.url) : nil
        if let entry = match?.entry, configuration.credentials?.contains(entry.credential, for: entry.space) != true { match = nil }
        if let own = task.credentialAttempts.withLock({ $0.authenticatedSpaces })?.match(for: request.url) { match = own }
        if match != nil || request.authenticatedSpace != nil { request.authenticatedSpace = match }
    }

    /// Passes a response to the policies that store information about its host (HSTS). A stored response says nothing
    /// new about it.
    func updatePolicies(from response: Response, of task: LoadTask) {
        guard response.source != .cache, let fact = configuration.upgradePolicy?.learn(from: response) else { return }
        logAccess(fact, of: task)
    }
}
