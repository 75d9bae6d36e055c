// SPDX-License-Identifier: Apache-2.0

extension CacheStatus {
    /// The name of this cache.
    package static let ownName = "portolan"

    /// The status of a request that a stored response answers.
    package static func hit(_ use: CacheDecision.Use, of response: StoredResponse, key: String? = nil) -> CacheStatus {
        var status = CacheStatus(
            cacheName: ownName, source: .hit, timeToLive: DeltaSeconds.difference(response.freshness.lifetime, use.age), key: key,
            detail: use.reason.rawValue)
        status.reason = use.reason
        return status
    }

    /// The status of a request that was sent on.
    ///
    /// - Parameter refusal: why the response is not stored.
    package static func forwarded(
        because reason: CacheReason, status: Int?, isStored: Bool, isCollapsed: Bool = false, key: String? = nil, refusal: String? = nil
    ) -> CacheStatus {
        let forward = Forward(reason.forwardReason, status: status, isStored: isStored, isCollapsed: isCollapsed)
        var status = CacheStatus(cacheName: ownName, source: .forward(forward), key: key, detail: reason.rawValue)
        (status.reason, status.refusal) = (reason, isStored ? nil : refusal)
        return status
    }

    /// The status of a request that only a stored response may answer, and none does.
    static func unanswered(because reason: CacheReason) -> CacheStatus {
        var status = CacheStatus(cacheName: ownName, detail: reason.rawValue)
        status.reason = reason
        return status
    }
}

extension CacheReason {
    /// RFC 9211 §2.2
    var forwardReason: CacheStatus.ForwardReason {
        switch self {
        case .requestNoStore, .precondition, .policy: .bypass
        case .method: .method
        case .noResponse: .uriMiss
        case .noMatch: .varyMiss
        case .missingRange, .incomplete: .partial
        case .requestNoCache, .requestMaxAge, .requestMinFresh: .request
        case .stale, .noCache, .mustRevalidate: .stale
        case .fresh, .immutable, .maxStale, .staleWhileRevalidate, .staleIfError: .miss
        }
    }
}
