// SPDX-License-Identifier: Apache-2.0

/// A handler in front of others: it changes requests before they are loaded, and observes their responses and ends.
///
///     let token = Interceptor(identifier: "org.example.token", schemes: .only(["https"])) { request in
///         guard request.url.host == "api.example.org" else { return }
///         try request.setField("Authorization", "Bearer \(try await tokens.current())")
///     } response: { request, response in
///         log(request.url, response.status)
///     }
///     var configuration = Loader.Configuration.default
///     configuration.handlers = [token]
///
/// The request is then loaded by the next handler that takes it. A request that a redirect leads to is a new request:
/// the interceptor changes it, too, so it must look at the host before it adds a secret. Bytes, redirects and
/// challenges pass unchanged. The first handler of a configuration is the outermost.
public struct Interceptor: ProtocolHandler {
    /// How a load ended, as the interceptor sees it.
    public enum Outcome: Sendable {
        case finished
        case failed(LoadError)
        /// A redirect was followed, or the load was stopped while the caller decided about one. The next request is
        /// another load, which may begin before this is reported.
        case redirected(to: Request)
        /// The caller cancelled the load, or the loader ended it.
        case stopped
    }

    public let identifier: String
    public let schemes: SchemeSet
    public let traits: HandlerTraits = [.multipart, .stopsInTurn]
    let change: @Sendable (inout Request) async throws -> Void
    let response: @Sendable (Request, Response) -> Void
    let end: @Sendable (Request, Outcome) -> Void

    /// - Parameters:
    ///   - identifier: the handler's name, in reverse DNS notation.
    ///   - schemes: the schemes whose requests are changed.
    ///   - request: changes a request. It may wait, for example for a token, and is cancelled when the load is stopped.
    ///     If it throws, the load fails with that error. It must keep the URL. The time limits count while it waits.
    ///   - response: receives each response, before the caller does. Must be fast: it may run on an event loop.
    ///   - end: called once for each request. Must be fast, too.
    public init(
        identifier: String, schemes: SchemeSet = .any, request: @escaping @Sendable (inout Request) async throws -> Void = { _ in },
        response: @escaping @Sendable (_ request: Request, _ response: Response) -> Void = { _, _ in },
        end: @escaping @Sendable (_ request: Request, _ outcome: Outcome) -> Void = { _, _ in }
    ) {
        self.identifier = identifier
        self.schemes = schemes
        change = request
        self.response = response
        self.end = end
    }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        InterceptedLoad(request, self, client)
    }
}
