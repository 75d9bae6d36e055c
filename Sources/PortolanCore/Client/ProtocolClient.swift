// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// What a load reports to: the one thing that a handler knows of the world behind it.
///
/// Calls of one load are serial, on any thread, and follow this order, which the core enforces on every handler
/// (a breach fails the load with ``LoadError/Code/protocolViolation`` and names the rule):
///
///     (interim | challenge | resend | sent | step | redirect not taken)* →
///         redirect taken | failed | cached response is valid → finished
///         | response → (data | sent | challenge | step | response, where multipart)* → trailers? → finished | failed
///
/// Everything between a handler and the caller is a `ProtocolClient` that forwards to the next one.
public protocol ProtocolClient: AnyObject, Sendable {
    /// The resource lies elsewhere.
    ///
    /// - Returns: `.stopped`: taken, this load is over. `.keepGoing`: not taken, deliver `redirectResponse` and its body like any other.
    ///   `.pause`: being decided; ``ProtocolLoad/resumeLoading()`` means not taken, ``ProtocolLoad/stopLoading()`` taken.
    func wasRedirected(to request: Request, redirectResponse: Response) -> Flow

    /// The stored response that the load was made with is still right; no data follows, only the finish.
    ///
    /// - Parameters:
    ///   - cached: the stored response, as ``ProtocolHandler/makeLoad(for:cachedResponse:client:)`` was given it.
    ///   - newer: the fields that are to replace the stored ones (RFC 9111 §4.3.4), or `nil`.
    func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?)

    /// A 1xx response, before the final one.
    func didReceiveInterim(_ response: Response)

    /// The request is sent again, and `response` is not delivered: a 401 or 407 that a credential answers, or a 417. Before the response that is; for those
    /// who look on. Need not come.
    func willResend(after response: Response)

    /// The response; again for each part, where the handler declares ``HandlerTraits/multipart``.
    func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow

    /// The next bytes of the body, lent until the call returns. An empty span does nothing.
    func didLoad(_ bytes: borrowing RawSpan) -> Flow

    /// The fields after the body.
    func didReceiveTrailers(_ fields: HTTPFields)

    /// The request's body is on its way: how many bytes went just now, in all, and how many will.
    func didSend(bodyBytes: Int64, total: Int64, expected: Int64?)

    /// A moment for the metrics.
    func didReach(_ step: LoadStep)

    /// One request and its answer are over, for the metrics. Need not come.
    ///
    /// Not an event: any thread, at any time from the start to just after a redirect was taken or the load was stopped; before its own end.
    func didTransfer(_ report: TransferReport)

    /// The request's body has to be sent again from its start.
    ///
    /// - Parameter answer: called once, from any thread, when this call is over for the order of events, with a body or with `nil` where there is none
    ///   or nobody answers.
    func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void)

    /// A question to be answered before the load can go on; see ``AuthenticationChallenge/answer(_:)``. One at a time. An answer that comes at once
    /// reaches the load when this call is over for the order of events, possibly before it has returned.
    func didReceive(_ challenge: AuthenticationChallenge)

    /// The peer no longer waits for an answer.
    func didCancel(_ challenge: AuthenticationChallenge)

    /// The body is complete. The last call.
    func didFinishLoading()

    /// The load failed. The last call.
    func didFail(with error: LoadError)

    /// A load inside this one: its redirects and challenges are decided as this load's are, it stops when this load ends, and its handler is not
    /// the one that asks (``Request`` is marked). Deeper than the loader's limit, the load fails with ``LoadError/Code/nestedTooDeep``.
    ///
    /// Not an event: may be called at any time between start and end, and from any thread.
    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad

    /// The load of whoever would be asked for this load's request if this handler were not there, for one that stands in front of others.
    ///
    /// It is this load carried on by another handler, not one inside it: its redirects, challenges and steps come to `client` as that handler
    /// reports them, and `client` passes on what is to be seen. The caller stops and resumes it as it is stopped and resumed itself.
    ///
    /// - Parameters:
    ///   - request: the load's own, perhaps with other fields; with the same URL.
    ///   - client: whom the load reports to.
    func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad
}

extension ProtocolClient {
    public func didTransfer(_ report: TransferReport) {}
    public func willResend(after response: Response) {}

    public func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        FailedLoad(LoadError(.notOffered, message: "nobody stands behind this handler"), client: client)
    }
}
