// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

/// A client that forwards every call to the next client. A conforming type implements only the calls that it changes or
/// observes.
public protocol ForwardingClient: ProtocolClient {
    var next: any ProtocolClient { get }
}

extension ForwardingClient {
    public func wasRedirected(to request: Request, redirectResponse: Response) -> Flow {
        next.wasRedirected(to: request, redirectResponse: redirectResponse)
    }
    public func cachedResponseIsValid(_ cached: CachedResponse, newer: Response?) { next.cachedResponseIsValid(cached, newer: newer) }
    public func didReceiveInterim(_ response: Response) { next.didReceiveInterim(response) }
    public func willResend(after response: Response) { next.willResend(after: response) }
    public func requestToResend(_ request: Request) -> Request { next.requestToResend(request) }
    public func willCache(_ response: CacheableResponse, decide: @escaping @Sendable (CacheableResponse?) -> Void) {
        next.willCache(response, decide: decide)
    }
    public func didReceive(_ response: Response, storage: CacheStoragePolicy) -> Flow { next.didReceive(response, storage: storage) }
    public func didLoad(_ bytes: borrowing RawSpan) -> Flow { next.didLoad(bytes) }
    public func didReceiveTrailers(_ fields: HTTPFields) { next.didReceiveTrailers(fields) }
    public func didSend(bodyBytes: Int64, total: Int64, expected: Int64?) {
        next.didSend(bodyBytes: bodyBytes, total: total, expected: expected)
    }
    public func didReach(_ step: LoadStep) { next.didReach(step) }
    public func didTransfer(_ report: TransferReport) { next.didTransfer(report) }
    public func needsNewBody(_ answer: @escaping @Sendable (Body?) -> Void) { next.needsNewBody(answer) }
    public func didReceive(_ challenge: AuthenticationChallenge) { next.didReceive(challenge) }
    public func didCancel(_ challenge: AuthenticationChallenge) { next.didCancel(challenge) }
    public func didFinishLoading() { next.didFinishLoading() }
    public func didFail(with error: LoadError) { next.didFail(with: error) }
    public func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        next.makeNestedLoad(for: request, client: client)
    }
    public func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        next.makeLoadByNextHandler(for: request, client: client)
    }
}
