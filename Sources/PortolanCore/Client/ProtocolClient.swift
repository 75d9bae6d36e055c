// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Receives the events of a load. A handler sees the loader only through this protocol.
///
/// A load makes one call at a time, on any thread, in this order. The core enforces the order for every handler. A
/// violation fails the load with ``LoadError/Code/protocolViolation``, and the error names the rule.
///
///     (interim | challenge | resend | sent | step | redirect declined)* →
///         redirect followed | failed | cached response is valid → finished
///         | response → (data | sent | challenge | step | response, if multipart)* → trailers? → finished | failed
///
/// Between a handler and the task there is a chain of clients. Each client forwards the events to the next client.
public protocol ProtocolClient: AnyObject, Sendable {
    /// The resource is at another URL.
    ///
    /// - Returns: `.stopped` if the caller follows the redirect. This load is then over. `.keepGoing` if the caller
    ///   declines it. Then deliver `redirectResponse` and its body like any other response. `.pause` if the decision is
    ///   deferred. Then ``ProtocolLoad/resumeLoading()`` means that the caller declines the redirect, and
    ///   ``ProtocolLoad/stopLoading()`` means that the caller follows it.
    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow

    /// The stored response that the handler received for this load is still valid. Only the finish follows.
    ///
    /// - Parameters:
    ///   - cached: the stored response that ``ProtocolHandler/makeLoad(for:cachedResponse:client:)`` received.
    ///   - newer: the fields that replace the stored ones (RFC 9111 §4.3.4), or `nil`.
    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?)

    /// A 1xx response, before the final one.
    func didReceiveInterim(_ response: Response)

    /// The request is sent again, because a credential answers the 401 or 407 in `response`, or because `response` is
    /// a 417. `response` is not delivered. For observers; a client need not implement this method.
    func willResend(after response: Response)

    /// The request is about to be sent again because of a challenge.
    ///
    /// Optional.
    ///
    /// - Returns: the request with the changes since it was made, such as the cookies that the 401 response set.
    func requestToResend(_ request: Request) -> Request

    /// The cache is about to store the response of the load. Called by the cache only, before the response and between
    /// other events.
    ///
    /// Optional.
    ///
    /// - Parameters:
    ///   - response: what the rules allow to store.
    ///   - decide: called once, on any thread, with the response to store; `nil` to store nothing.
    func willCache(_ response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void)

    /// The response. If the handler declares ``HandlerTraits/multipart``, each part has its own response.
    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow

    /// The next bytes of the body, borrowed until the call returns. An empty span has no effect.
    func didLoad(_ bytes: borrowing RawSpan) -> Flow

    /// The trailer fields, after the body.
    func didReceiveTrailers(_ fields: HTTPFields)

    /// Bytes of the request's body were sent.
    ///
    /// - Parameters:
    ///   - bodyBytes: the number of bytes since the last call.
    ///   - total: the number of bytes from the start of the body.
    ///   - expected: the length of the body; `nil` if it is unknown.
    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?)

    /// The load has reached a step, for the metrics.
    func didReach(_ step: LoadStep)

    /// One request and its response are complete, for the metrics. Optional.
    ///
    /// This call has no place in the order of events. It can come on any thread, at any time from the start to the
    /// load's own end, and also shortly after the caller followed a redirect or stopped the load.
    func didTransfer(_ report: TransferReport)

    /// The request's body must be sent again from its start.
    ///
    /// - Parameter answer: called once, on any thread, after this event has ended in the order of events. Receives a
    ///   body; `nil` if the caller provides none.
    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void)

    /// A challenge that must be answered before the load can continue (``AuthenticationChallenge/answer(_:)``). One at
    /// a time. An immediate answer reaches the load after this event has ended in the order of events, possibly before
    /// the call has returned.
    func didReceive(_ challenge: AuthenticationChallenge)

    /// The peer no longer waits for an answer to the challenge.
    func didCancel(_ challenge: AuthenticationChallenge)

    /// The body is complete. The last call.
    func didFinishLoading()

    /// The load failed. The last call.
    func didFail(with error: LoadError)

    /// Makes a load that is nested in this one. The task's delegate also decides the redirects and challenges of the
    /// nested load. The nested load stops when this load ends. The handler of this load does not serve the nested load.
    /// Beyond the loader's limit on the nesting depth, the nested load fails with ``LoadError/Code/nestedTooDeep``.
    ///
    /// Not an event: can be called at any time between start and end, on any thread.
    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad

    /// Makes a load of this load's request by the next matching handler. For a handler in front of others, such as an
    /// interceptor.
    ///
    /// The returned load is not a nested load. `client` receives redirects, challenges and steps from the next handler,
    /// and forwards those that the caller should see. The calling handler must stop and resume the returned load when
    /// its own load is stopped and resumed.
    ///
    /// - Parameters:
    ///   - request: the load's own request. Its fields can be different, but not its URL.
    ///   - client: receives the events of the load.
    func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad
}

extension ProtocolClient {
    public func didTransfer(_ report: TransferReport) {}
    public func willResend(after response: Response) {}
    public func requestToResend(_ request: Request) -> Request { request }
    public func willCache(_ response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void) { decide(response) }

    public func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        FailedLoad(LoadError(.notOffered, message: "there is no next handler"), client: client)
    }
}
