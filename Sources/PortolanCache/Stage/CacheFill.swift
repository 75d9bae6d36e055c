// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// The client of a load whose response the cache does not have: it forwards the response, and stores it if the rules
/// allow that.
///
/// It takes the place of a ``CachingLoad`` with a ``CacheExchange`` for a request without stored responses. It is no
/// load: the handler's load reports to it directly.
final class CacheFill: CacheFillClient, ForwardingClient {
    let next: any ProtocolClient
    private let storage: ResponseStorage
    private let loopGuard: LoopGuard
    /// The request whose response other loads wait for; `nil` if no load can wait for it.
    private let shared: Mutex<CollapsedRequests.RequestID?>
    /// Whether the response could answer other requests.
    private let isShareable: Bool
    private let hasResponse = Atomic(false)

    /// - Parameter request: the canonical request.
    init(
        _ request: Request, storage: ResponseStorage, shared: CollapsedRequests.RequestID?, isShareable: Bool, next: any ProtocolClient
    ) {
        (self.storage, self.isShareable, self.next) = (storage, isShareable, next)
        loopGuard = LoopGuard(handler: CachingHandler.identifier, url: request.url)
        self.shared = Mutex(shared)
    }

    /// Ends the storing if the load was stopped without a last event.
    deinit {
        storage.finish(isComplete: false)
        endSharing(.stopped)
    }

    func willSend(_ request: Request) { storage.requestWillBeSent(with: request.fields) }

    private func endSharing(_ end: WaitingLoad.End) {
        if let id = shared.withLock({ $0.take() }) { storage.cache.end(storage.key, id, end) }
    }

    // MARK: - Events

    func willResend(after response: Response) {
        storage.requestWasResent()
        next.willResend(after: response)
    }

    func didReceive(_ challenge: AuthenticationChallenge) {
        if challenge.mayWaitForCaller { endSharing(.alone) }
        next.didReceive(challenge)
    }

    func wasRedirected(to request: Request, redirectResponse response: Response) -> Flow {
        storage.invalidate(after: response)
        let stored = storage.storeRedirect(response, asking: next)
        endSharing(stored.map { storage.cache.isShareable($0) } ?? false ? .stored : .alone)
        return next.wasRedirected(to: request, redirectResponse: described(response, isStored: stored != nil))
    }

    func didReceive(_ response: Response, storage policy: CacheStoragePolicy) -> Flow {
        if hasResponse.exchange(true, ordering: .relaxed) {
            // A later part of a multipart response is not stored, and so the first one is not either.
            storage.discard()
            return next.didReceive(response, storage: policy)
        }
        storage.invalidate(after: response)
        let stored = storage.begin(response, policy, asking: next)
        if isShareable {
            let isShared = stored.map { storage.cache.isShareable($0) } ?? false
            storage.cache.record(storage.key, isShareable: isShared)
            if !isShared { endSharing(.alone) }
        }
        let flow = next.didReceive(described(response, isStored: stored != nil), storage: policy)
        if flow != .keepGoing { endSharing(.alone) }
        return flow
    }

    private func described(_ response: Response, isStored: Bool) -> Response {
        var response = response
        response.cacheStatus = .forwarded(
            because: .noResponse, status: response.status?.code, isStored: isStored, refusal: storage.refusal)
        return response
    }

    func didLoad(_ bytes: borrowing RawSpan) -> Flow {
        if !storage.write(bytes) { endSharing(.alone) }
        let flow = next.didLoad(bytes)
        if flow != .keepGoing { endSharing(.alone) }
        return flow
    }

    func didReceiveTrailers(_ fields: HTTPFields) {
        storage.receiveTrailers(fields)
        next.didReceiveTrailers(fields)
    }

    func didFinishLoading() {
        let isStored = storage.finish(isComplete: true)
        next.didFinishLoading()
        endSharing(isStored ? .stored : .alone)
    }

    func didFail(with error: LoadError) {
        storage.finish(isComplete: false)
        next.didFail(with: error)
        // The caller's own limits say nothing about the response for others.
        endSharing([.cancelled, .timedOut, .limitExceeded].contains(error.code) ? .stopped : .alone)
    }

    // MARK: - Loads of the handler

    // The cache does not handle the request again, although the handler can pass it on.

    func makeNestedLoad(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        next.makeNestedLoad(for: request.adding(loopGuard), client: client)
    }

    func makeLoadByNextHandler(for request: Request, client: any ProtocolClient) -> any ProtocolLoad {
        next.makeLoadByNextHandler(for: request.adding(loopGuard), client: client)
    }
}

extension AuthenticationChallenge {
    /// Whether the caller may need time for the answer, such as for a password or a certificate.
    var mayWaitForCaller: Bool { if case .serverTrust = protectionSpace.kind { false } else { true } }
}
