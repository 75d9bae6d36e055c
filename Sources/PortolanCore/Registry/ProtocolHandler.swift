// SPDX-License-Identifier: Apache-2.0

/// Serves a protocol: makes a load for each request that it accepts. Handlers are registered in a ``ProtocolRegistry``.
///
/// A handler sees the loader only through the client to which each load reports. That is true for built-in handlers,
/// too.
public protocol ProtocolHandler: Sendable {
    /// The handler's name, in reverse DNS notation.
    var identifier: String { get }
    var schemes: SchemeSet { get }
    var traits: HandlerTraits { get }

    /// Whether this handler serves `request`. Must be fast and have no side effects. Called on any thread, also
    /// concurrently. Not called for schemes outside ``schemes``, nor for a URL that this handler requested itself.
    func canInit(_ request: Request) -> Bool

    /// Returns the canonical form of the request. Equivalent requests have the same canonical form. Idempotent. Any
    /// thread.
    func canonicalRequest(for request: Request) -> Request

    /// Whether a stored response to one canonical request can be used for the other one. Can be called on any thread.
    func isCacheEquivalent(_ a: Request, to b: Request) -> Bool

    /// Makes a load that is ready to start. The load must not call `client` before its start. Can be called on any
    /// thread.
    ///
    /// - Parameters:
    ///   - request: a request that ``canInit(_:)`` accepted.
    ///   - cachedResponse: a stored response. The load either confirms it
    ///     (``ProtocolClient/cachedResponseIsValid(_:newer:)``) or delivers a new response.
    ///   - client: receives the events of the load.
    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad
}

extension ProtocolHandler {
    public var traits: HandlerTraits { [] }
    public func canInit(_ request: Request) -> Bool { true }
    public func canonicalRequest(for request: Request) -> Request { request }
    public func isCacheEquivalent(_ a: Request, to b: Request) -> Bool { a.url == b.url && a.method == b.method }
}
