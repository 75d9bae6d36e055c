// SPDX-License-Identifier: Apache-2.0

/// Makes loads for a protocol: the thing that is registered.
///
/// Built-in or from a plugin library, a handler sees nothing of the loader but the client that each load reports to.
public protocol ProtocolHandler: Sendable {
    /// Reverse DNS.
    var identifier: String { get }
    var schemes: SchemeSet { get }
    var traits: HandlerTraits { get }

    /// Whether this handler serves `request`. Pure and fast; any thread, also at the same time. Not asked for schemes outside ``schemes``,
    /// nor for requests that carry this handler's own mark.
    func canInit(_ request: Request) -> Bool

    /// The request in the form under which a cache knows it. Idempotent; any thread.
    func canonicalRequest(for request: Request) -> Request

    /// Whether the two, both canonical, may have the same stored response. Any thread.
    func isCacheEquivalent(_ a: Request, to b: Request) -> Bool

    /// A load that is ready to start. It must not call `client` before it is started. Any thread.
    ///
    /// - Parameters:
    ///   - request: one that ``canInit(_:)`` took.
    ///   - cachedResponse: a stored response to be confirmed (``ProtocolClient/cachedResponseIsValid(_:newer:)``) or replaced.
    ///   - client: whom the load reports to.
    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad
}

extension ProtocolHandler {
    public var traits: HandlerTraits { [] }
    public func canInit(_ request: Request) -> Bool { true }
    public func canonicalRequest(for request: Request) -> Request { request }
    public func isCacheEquivalent(_ a: Request, to b: Request) -> Bool { a.url == b.url && a.method == b.method }
}
