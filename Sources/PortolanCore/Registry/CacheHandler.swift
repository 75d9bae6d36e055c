// SPDX-License-Identifier: Apache-2.0

/// The handler of a cache in front of another handler, for one request.
package protocol CacheHandler: ProtocolHandler {
    /// Makes the client with which the next handler can load the request directly, because the cache has nothing to
    /// answer.
    ///
    /// - Parameters:
    ///   - request: the canonical request.
    ///   - next: the client that receives the load's events.
    /// - Returns: `nil` if this handler must load the request.
    func makeFillClient(for request: Request, next: any ProtocolClient) -> (any CacheFillClient)?
}

/// A client that stores the response to a request that the cache can't answer, and forwards all events.
package protocol CacheFillClient: ProtocolClient {
    /// Called before the load is made.
    ///
    /// - Parameter request: the request that the handler receives, with the stored cookies.
    func willSend(_ request: Request)
}
