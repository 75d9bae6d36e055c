// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Answers requests from a closure, for tests: no server, no plugin, no global state.
///
///     var configuration = Loader.Configuration.default
///     configuration.handlers = [StubHandler { request in .text("Hello, \(request.url.path)") }]
///     let loader = Loader(configuration: configuration, registry: ProtocolRegistry())
///
/// Each load ends inside its start, unless its client pauses it.
public struct StubHandler: ProtocolHandler {
    public let identifier: String
    public let schemes: SchemeSet
    private let answer: @Sendable (Request) throws -> StubAnswer

    /// - Parameters:
    ///   - identifier: of the handler.
    ///   - schemes: what it is asked about.
    ///   - answer: what a request is answered with; what it throws, the load fails with.
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
