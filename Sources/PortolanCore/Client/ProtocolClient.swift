// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// Receives the events of a load. A handler knows nothing else of the loader.
///
/// Calls of one load are serial, on any thread, and follow this order. The core enforces it on every handler. A
/// violation fails the load with ``LoadError/Code/protocolViolation``, and the error names the rule.
///
///     (interim | challenge | resend | sent | step | redirect declined)* →
///         redirect followed | failed | cached response is valid → finished
///         | response → (data | sent | challenge | step | response, if multipart)* → trailers? → finished | failed
///
/// Everything between a handler and the caller is a `ProtocolClient` that forwards to the next one.
public protocol ProtocolClient: AnyObject, Sendable {
    /// The resource is at another URL.
    ///
    /// - Returns: `.stopped` if the redirect is followed: this load is over. `.keepGoing` if it is declined: deliver
    ///   `redirectResponse` and its body like any other. `.pause` if the decision is deferred:
    ///   ``ProtocolLoad/resumeLoading()`` then declines the redirect, and ``ProtocolLoad/stopLoading()`` means that it
    ///   is followed.
    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow

    /// The stored response that the load was made with is still valid. No data follows, only the finish.
    ///
    /// - Parameters:
    ///   - cached: the stored response that ``ProtocolHandler/makeLoad(for:cachedResponse:client:)`` received.
    ///   - newer: the fields that replace the stored ones (RFC 9111 §4.3.4), or `nil`.
    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?)

    /// A 1xx response, before the final one.
    func didReceiveInterim(_ response: Response)

    /// The request is sent again, and `response` is not delivered: a 401 or 407 that a credential answers, or a 417.
    /// Comes before the response that is delivered. For observers. Optional.
    func willResend(after response: Response)

    /// The request is about to be sent again because of a challenge.
    ///
    /// - Returns: the request with what has changed since it was made, such as the cookies that the 401 response set.
    ///   Optional.
    func requestToResend(_ request: Request) -> Request

    /// The response. Comes again for each part if the handler declares ``HandlerTraits/multipart``.
    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow

    /// The next bytes of the body, borrowed until the call returns. An empty span has no effect.
    func didLoad(_ bytes: borrowing RawSpan) -> Flow

    /// The trailer fields, after the body.
    func didReceiveTrailers(_ fields: HTTPFields)

    /// The request's body is being sent: `bodyBytes` since the last call, `total` so far, `expected` in all.
    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?)

    /// The load has reached a step, for the metrics.
    func didReach(_ step: LoadStep)

    /// One request and its response are complete, for the metrics. Optional.
    ///
    /// Not an event of the order above: may come on any thread, at any time from the start until shortly after a
    /// redirect was followed or the load was stopped, but before the load's own end.
    func didTransfer(_ report: TransferReport)

    /// The request's body must be sent again from its start.
    ///
    /// - Parameter answer: called once, on any thread, when this call is over in the order of events. Receives a body,
    ///   or `nil` if there is none or nobody provides one.
    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void)

    /// A challenge that must be answered before the load can continue; see ``AuthenticationChallenge/answer(_:)``. One
    /// at a time. An immediate answer reaches the load when this call is over in the order of events, possibly before
    /// it has returned.
    func didReceive(_ challenge: AuthenticationChallenge)

    /// The peer no longer waits for an answer.
    func didCancel(_ challenge: AuthenticationChallenge)

    /// The body is complete. The last call.
    func didFinishLoading()

    /// The load failed. The last call.
    func didFail(with error: LoadError)

    /// Makes a load inside this one. Its redirects and challenges are decided like those of this load. It stops when
    /// this load ends. The handler that makes it does not serve it (``Request`` records that handler). Beyond the
    /// loader's limit it fails with ``LoadError/Code/nestedTooDeep``.
    ///
    /// Not an event: may be called at any time between start and end, and on any thread.
    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad

    /// Loads this load's request with the next matching handler. For a handler that stands in front of others.
    ///
    /// The result continues this load with another handler; it is not a nested load. `client` receives redirects,
    /// challenges and steps as that handler reports them, and forwards those that the caller should see. The handler
    /// stops and resumes the result when its own load is stopped and resumed.
    ///
    /// - Parameters:
    ///   - request: the load's own request, possibly with other fields, but with the same URL.
    ///   - client: receives the events of the load.
    func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad
}

extension ProtocolClient {
    public func didTransfer(_ report: TransferReport) {}
    public func willResend(after response: Response) {}
    public func requestToResend(_ request: Request) -> Request { request }

    public func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        FailedLoad(LoadError(.notOffered, message: "there is no next handler"), client: client)
    }
}
