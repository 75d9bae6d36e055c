// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import Synchronization

/// A handler in front of another handler, for one request. It answers the request with a stored response, or stores the
/// response of the other handler.
final class CachingHandler: CacheHandler {
    static let identifier = "org.portolan.cache"

    private let cache: ResponseCache
    private let next: RegisteredHandler
    private let loader: Loader
    /// The key of the request and the stored responses for it; `nil` if they were not looked up.
    private let found = Mutex<(key: CacheKey, entries: [CacheEntry])?>(nil)

    init(cache: ResponseCache, next: RegisteredHandler, loader: Loader) { (self.cache, self.next, self.loader) = (cache, next, loader) }

    var identifier: String { Self.identifier }
    var schemes: SchemeSet { .any }
    var traits: HandlerTraits {
        next.handler.traits.union(.stopsAsynchronously).subtracting([.cookies, .cacheable, .blocking, .httpFields])
    }

    func canonicalRequest(for request: Request) -> Request { next.handler.canonicalRequest(for: request) }

    func makeLoad(for request: Request, cachedResponse: CachedResponse?, client: any ProtocolClient) -> any ProtocolLoad {
        CachingLoad(request, cache: cache, found: found.withLock { $0.take() }, next: next, loader: loader, client: client)
    }

    /// Makes a client that only stores the response, if nothing is stored for the URL. This is the usual case, so it
    /// should cost no more than a load without a cache.
    func makeFillClient(for request: Request, next client: any ProtocolClient) -> (any CacheFillClient)? {
        guard request.method == .get, request.body == nil, request.cachePolicy == .useProtocol || request.cachePolicy == .preferCached,
            next.handler.traits.contains(.httpFields)
        else { return nil }
        let key = CacheKey(request.url, partition: loader.configuration.cachePartition?(request))
        guard let entries = cache.store.immediateEntries(for: key) else { return nil }
        guard entries.isEmpty else {
            found.withLock { $0 = (key, entries) }
            return nil
        }
        let lookup = CacheLookup(method: request.method, fields: request.fields, policy: request.cachePolicy, now: cache.now())
        guard case .load(.noResponse) = lookup.decide([]),
            let role = cache.beginFirst(key, CollapsedRequests.Candidate(lookup, request))
        else {
            found.withLock { $0 = (key, entries) }
            return nil
        }
        var shared: CollapsedRequests.RequestID?
        if case .first(let id) = role { shared = id }
        // Another load of the URL may have stored its response and ended after the look-up.
        if let shared, let stored = cache.store.immediateEntries(for: key), !stored.isEmpty {
            cache.end(key, shared, .stored)
            found.withLock { $0 = (key, stored) }
            return nil
        }
        return CacheFill(
            request, storage: ResponseStorage(cache, key, url: request.url, lookup: lookup), shared: shared,
            isShareable: lookup.isShareable, next: client)
    }
}
