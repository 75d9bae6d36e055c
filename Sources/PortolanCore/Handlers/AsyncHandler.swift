// SPDX-License-Identifier: Apache-2.0

/// A handler that loads each request with one asynchronous function.
///
///     let greetings = AsyncHandler(identifier: "org.example.greet", schemes: ["greet"]) { request, client in
///         try await client.didReceive(Response(url: request.url, mimeType: MIMEType(parsing: "text/plain")))
///         try await client.didLoad("Hello, \(request.url.path)!\n")
///     }
///     var configuration = Loader.Configuration.default
///     configuration.handlers = [greetings]
///
/// The load finishes when the function returns. If the function throws a ``LoadError``, the load fails with it; another
/// error becomes ``LoadError/Code/unknown``. The function runs as a task on Swift's pool: it may suspend for any time,
/// but must not block its thread. When the load is stopped, the task is cancelled, and every call of the client throws
/// `CancellationError`. A delegate on ``DeliveryQueue/immediate`` is called on a thread of that pool, too, and must not
/// block that thread.
public struct AsyncHandler: ProtocolHandler {
    public let identifier: String
    public let schemes: SchemeSet
    public let traits: HandlerTraits
    private let load: @Sendable (Request, AsyncClient) async throws -> Void

    /// - Parameters:
    ///   - identifier: the handler's name, in reverse DNS notation.
    ///   - schemes: the schemes whose requests the handler accepts. If one of them is not a URL scheme (RFC 3986 §3.1),
    ///     the error of a load without a handler names it.
    ///   - isMultipart: whether a load may deliver more than one response.
    ///   - load: performs one load. Called on any thread, also concurrently for several loads.
    public init(
        identifier: String, schemes: [String], isMultipart: Bool = false,
        load: @escaping @Sendable (_ request: Request, _ client: AsyncClient) async throws -> Void
    ) {
        self.identifier = identifier
        self.schemes = .only(schemes)
        traits = isMultipart ? [.multipart, .stopsAsynchronously] : .stopsAsynchronously
        self.load = load
    }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        AsyncLoad(client, handler: identifier) { [load] in try await load(request, $0) }
    }
}
