// SPDX-License-Identifier: Apache-2.0

/// A handler in front of others: it changes requests before they are loaded, and observes the responses and how the
/// loads end.
///
///     let token = Interceptor(identifier: "org.example.token", schemes: .only(["https"])) { request in
///         guard request.url.host == "api.example.org" else { return }
///         try request.setField("Authorization", "Bearer \(try await tokens.current())")
///     } onResponse: { request, response in
///         log(request.url, response.status)
///     }
///     var configuration = Loader.Configuration.default
///     configuration.handlers = [token]
///
/// The next handler that accepts the request then loads it. A redirect leads to a new request, which the interceptor
/// changes, too: check the host before you add a secret. Bytes, redirects and challenges are forwarded unchanged. Of
/// several interceptors, the first one in the configuration changes the request first.
public struct Interceptor: ProtocolHandler {
    /// How a load ended.
    public enum Outcome: Sendable {
        case finished
        /// The next handler has failed, or the loader has ended the load, for example at a time limit, or for another
        /// attempt.
        case failed(LoadError)
        /// The load ended with a redirect: the redirect was followed, or the caller had not decided yet when the load
        /// was stopped. The load of the next request can begin before this is reported.
        case redirected(to: Request)
        /// The caller cancelled the load.
        case stopped
    }

    public let identifier: String
    public let schemes: SchemeSet
    public let traits: HandlerTraits = [.multipart, .stopsAsynchronously]
    let makeHooks: @Sendable (Request) -> Hooks
    /// Called when a task is made, on the thread that makes it; `nil` if there is nothing to capture.
    let capture: (@Sendable () -> any Sendable)?

    /// The functions of an interceptor for one request.
    public struct Hooks: Sendable {
        let changeRequest: @Sendable (inout Request) async throws -> Void
        let observeRedirect: @Sendable (Response) -> Void
        let observeResponse: @Sendable (Response) -> Void
        let observeEnd: @Sendable (Outcome) -> Void

        /// - Parameters:
        ///   - request: changes the request, as in
        ///     ``Interceptor/init(identifier:schemes:request:onResponse:onEnd:)``. Not called if the load is stopped
        ///     before.
        ///   - onRedirect: receives a response that redirects to another request, before the caller does.
        ///   - onResponse: receives each response that is delivered, before the caller does: also one that redirects,
        ///     if the caller has declined the redirect.
        ///   - onEnd: called once, if the load was started. It can come before `request` has returned.
        public init(
            request: @escaping @Sendable (inout Request) async throws -> Void = { _ in },
            onRedirect: @escaping @Sendable (_ response: Response) -> Void = { _ in },
            onResponse: @escaping @Sendable (_ response: Response) -> Void = { _ in },
            onEnd: @escaping @Sendable (_ outcome: Outcome) -> Void = { _ in }
        ) {
            (changeRequest, observeRedirect, observeResponse, observeEnd) = (request, onRedirect, onResponse, onEnd)
        }
    }

    /// - Parameters:
    ///   - identifier: the handler's name, in reverse DNS notation.
    ///   - schemes: the schemes of the requests that the interceptor changes.
    ///   - request: changes a request, except its URL. It can wait, for example for a token. The time limits include
    ///     this wait. When the load is stopped, the task that runs this closure is cancelled. If the closure throws,
    ///     the load fails with that error.
    ///   - onResponse: receives each response before the caller does. Must be fast, because it can run on an event
    ///     loop.
    ///   - onEnd: called once for each request. Must be fast, too.
    public init(
        identifier: String, schemes: SchemeSet = .any, request: @escaping @Sendable (inout Request) async throws -> Void = { _ in },
        onResponse: @escaping @Sendable (_ request: Request, _ response: Response) -> Void = { _, _ in },
        onEnd: @escaping @Sendable (_ request: Request, _ outcome: Outcome) -> Void = { _, _ in }
    ) {
        self.init(identifier: identifier, schemes: schemes) { original in
            Hooks(request: request, onResponse: { onResponse(original, $0) }, onEnd: { onEnd(original, $0) })
        }
    }

    /// Makes an interceptor whose functions share something for each request, such as the time of its start.
    ///
    /// - Parameters:
    ///   - identifier: the handler's name, in reverse DNS notation.
    ///   - schemes: the schemes of the requests that the interceptor changes.
    ///   - hooks: called for each request, before its load is started. Must be fast.
    public init(identifier: String, schemes: SchemeSet = .any, hooks: @escaping @Sendable (_ request: Request) -> Hooks) {
        (self.identifier, self.schemes, makeHooks, capture) = (identifier, schemes, hooks, nil)
    }

    /// Makes an interceptor that captures something on the thread that makes a task, such as task-local values. The
    /// later requests of the task, after redirects and for other attempts, are made on other threads.
    ///
    /// - Parameters:
    ///   - identifier: the handler's name, in reverse DNS notation.
    ///   - schemes: the schemes of the requests that the interceptor changes.
    ///   - context: called when a task is made, if the interceptor is one of ``Loader/Configuration/handlers``;
    ///     otherwise for each request.
    ///   - hooks: called for each request of the task, before its load is started, with the result of `context`. Must
    ///     be fast.
    public init<Context: Sendable>(
        identifier: String, schemes: SchemeSet = .any, capturing context: @escaping @Sendable () -> Context,
        hooks: @escaping @Sendable (_ request: Request, _ context: Context) -> Hooks
    ) {
        (self.identifier, self.schemes, capture) = (identifier, schemes, context)
        makeHooks = { request in hooks(request, request.capturedContexts[identifier] as? Context ?? context()) }
    }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        InterceptedLoad(request, self, client)
    }
}
