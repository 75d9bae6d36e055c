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
    private let answer: @Sendable (Request) throws -> StubAnswer

    /// - Parameters:
    ///   - identifier: the handler's identifier.
    ///   - schemes: the schemes that the handler accepts.
    ///   - answer: returns the response to a request. If it throws, the load fails with the error.
    public init(
        identifier: String = "org.portolan.stub", schemes: SchemeSet = .any,
        answer: @escaping @Sendable (Request) throws -> StubAnswer
    ) {
        self.identifier = identifier
        self.schemes = schemes
        self.answer = answer
    }

    public func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        do {
            return try answer(request).load(for: request, client: client)
        } catch let error as LoadError {
            return FailedLoad(error, client: client)
        } catch {
            return FailedLoad(LoadError(.unknown, message: "the stub threw \(error)", cause: error), client: client)
        }
    }
}
