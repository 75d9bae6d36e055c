// SPDX-License-Identifier: Apache-2.0

extension CacheStatus {
    /// The name of this cache.
    package static let ownName = "portolan"

    /// The status of a request that a stored response answers.
    package static func hit(_ use: CacheDecision.Use, of response: StoredResponse, key: String? = nil) -> CacheStatus {
        CacheStatus(
            cacheName: ownName, source: .hit, timeToLive: DeltaSeconds.difference(response.freshness.lifetime, use.age), key: key,
            detail: use.reason.name)
    }

    /// The status of a request that was sent on.
    package static func forwarded(
        because reason: CacheReason, status: Int?, isStored: Bool, isCollapsed: Bool = false, key: String? = nil
    ) -> CacheStatus {
        let forward = Forward(reason.forwardReason, status: status, isStored: isStored, isCollapsed: isCollapsed)
        return CacheStatus(cacheName: ownName, source: .forward(forward), key: key, detail: reason.name)
    }
}

extension CacheReason {
    /// The name of the case. To print a case needs reflection, so each is printed once.
    var name: String { Self.names[self] ?? rawValue }
    private static let names = Dictionary(uniqueKeysWithValues: allCases.map { ($0, "\($0)") })

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
