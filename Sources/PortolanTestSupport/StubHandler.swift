// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Responds to requests from a closure, for tests. Needs no server, no plugin and no global state.
///
///     var configuration = Loader.Configuration.default
///     configuration.handlers = [StubHandler { request in .text("Hello, \(request.url.path)") }]
///     let loader = Loader(configuration: configuration, registry: ProtocolRegistry())
///
/// Each load ends before `startLoading()` returns, unless its client pauses it.
public struct StubHandler: ProtocolHandler {
    public let identifier: String
    public let schemes: SchemeSet
    private let respond: @Sendable (Request) throws -> StubResponse

    /// - Parameters:
    ///   - identifier: the handler's identifier.
    ///   - schemes: the schemes that the handler accepts.
    ///   - respond: returns the response to a request. If it throws, the load fails with the error.
    public init(
        identifier: String = "org.portolan.stub", schemes: SchemeSet = .any,
        respond: @escaping @Sendable (Request) throws -> StubResponse
    ) {
        self.identifier = identifier
        self.schemes = schemes
        self.respond = respond
    }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        do {
            return try respond(request).makeLoad(for: request, client: client)
        } catch let error as LoadError {
            return FailedLoad(error, client: client)
        } catch {
            return FailedLoad(LoadError(.unknown, message: "the stub threw \(error)", underlyingError: error), client: client)
        }
    }
}
