// SPDX-License-Identifier: Apache-2.0

/// Makes loads for a protocol. Handlers are what a registry registers.
///
/// A handler, built-in or from a plugin library, sees nothing of the loader except the client that each load reports
/// to.
public protocol ProtocolHandler: Sendable {
    /// The handler's name, in reverse DNS notation.
    var identifier: String { get }
    var schemes: SchemeSet { get }
    var traits: HandlerTraits { get }

    /// Whether this handler serves `request`. Pure and fast. Called on any thread, also concurrently. Not called for
    /// schemes outside ``schemes``, nor for a URL that this handler requested itself.
    func canInit(_ request: Request) -> Bool

    /// The form of the request under which a cache stores it. Idempotent. Any thread.
    func canonicalRequest(for request: Request) -> Request

    /// Whether two canonical requests may share a stored response. Any thread.
    func isCacheEquivalent(_ a: Request, to b: Request) -> Bool

    /// Makes a load that is ready to start. It must not call `client` before its start. Any thread.
    ///
    /// - Parameters:
    ///   - request: a request that ``canInit(_:)`` accepted.
    ///   - cachedResponse: a stored response to confirm (``ProtocolClient/cachedResponseIsValid(_:newer:)``) or to
    ///     replace.
    ///   - client: receives the events of the load.
    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad
}

extension ProtocolHandler {
    public var traits: HandlerTraits { [] }
    public func canInit(_ request: Request) -> Bool { true }
    public func canonicalRequest(for request: Request) -> Request { request }
    public func isCacheEquivalent(_ a: Request, to b: Request) -> Bool { a.url == b.url && a.method == b.method }
}
