// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
public import PortolanCore
public import PortolanURL
import Synchronization

/// A private cache for the responses of loaders (RFC 9111): it stores responses that may be stored, and answers
/// requests with them as long as the rules allow that.
///
///     var configuration = Loader.Configuration.default
///     configuration.cache = ResponseCache(memoryLimit: 32 << 20)
///
/// Several loaders can share a cache. The members can be called on any thread.
public final class ResponseCache: Sendable {
    package let store: any CacheStore
    /// The time in seconds since 1970.
    let now: @Sendable () -> Int64
    /// The keys whose responses are being validated in the background.
    private let validatedKeys = Mutex<Set<CacheKey>>([])
    private let removals = Mutex(Removals())
    private let collapsed = Mutex(CollapsedRequests())

    /// The last removals. A response whose request was sent before one of them is not stored: it could be older than
    /// the reason for the removal.
    private struct Removals {
        static let limit = 64
        var count = 0
        var recent: [CacheSelection] = []

        mutating func add(_ selection: CacheSelection) {
            count += 1
            recent.append(selection)
            if recent.count > Self.limit { recent.removeFirst() }
        }

        /// Whether responses for the key may have been removed after the first `count` removals.
        func mayInclude(_ key: CacheKey, since count: Int) -> Bool {
            let newer = self.count - count
            return newer > recent.count || recent.suffix(newer).contains { $0.contains(nil, key, responseTime: .max) }
        }
    }

    /// Makes an empty cache in memory.
    ///
    /// - Parameter memoryLimit: the largest number of bytes that the cache holds. The least recently used responses
    ///   make room for new ones. A response of more than an eighth of the limit is not stored.
    public convenience init(memoryLimit: Int = 64 << 20) {
        self.init(store: MemoryCacheStore(byteLimit: memoryLimit))
    }

    package init(store: any CacheStore, now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970) }) {
        (self.store, self.now) = (store, now)
    }

    /// Removes all responses.
    public func removeAll() { remove(.all) }

    /// Removes the responses of a URL, without regard to its fragment.
    public func removeResponses(for url: URLRecord) { remove(.url(url)) }

    /// Writes the responses and removals of all loads that have ended before the call.
    ///
    /// A cache on disk writes them in the background, and a program can end before that. For any other cache, this
    /// function does nothing. If something can't be written, for example on a full disk, this is logged, and is no
    /// error.
    public func flush() async {
        await withCheckedContinuation { continuation in store.flush { continuation.resume() } }
    }

    /// Does what ``flush()`` does, but blocks the calling thread.
    @available(*, noasync, message: "this blocks the thread; await flush() instead")
    public func waitForFlush() {
        let isFlushed = ConditionLock(false)
        store.flush { isFlushed.withLockBroadcasting { $0 = true } }
        isFlushed.wait { $0 ? () : nil }
    }

    func remove(_ selection: CacheSelection) {
        removals.withLock { $0.add(selection) }
        store.remove(selection)
    }

    /// Removes the responses of URLs, because of a response that may be stored itself.
    ///
    /// - Parameters:
    ///   - key: the key of the response.
    ///   - count: the number of removals before its request.
    /// - Returns: whether others have removed responses for the key since then, and the number of removals until now.
    func remove(_ urls: [URLRecord], for key: CacheKey, since count: Int) -> (hasRemoved: Bool, count: Int) {
        let result = removals.withLock { removals in
            let hasRemoved = removals.mayInclude(key, since: count)
            for url in urls { removals.add(.url(url)) }
            return (hasRemoved, removals.count)
        }
        for url in urls { store.remove(.url(url)) }
        return result
    }

    /// The number of removals until now.
    var removalCount: Int { removals.withLock { $0.count } }

    /// Whether responses for the key may have been removed after the first `count` removals.
    func mayHaveRemoved(_ key: CacheKey, since count: Int) -> Bool {
        removals.withLock { $0.mayInclude(key, since: count) }
    }

    /// Validates a stored response that already answers a request (RFC 5861 §3). Only one validation of a URL runs
    /// at a time.
    func validateInBackground(_ request: Request, _ key: CacheKey, by loader: Loader) {
        guard !collapsed.withLock({ $0.isUnderWay(key) }), validatedKeys.withLock({ $0.insert(key).inserted }) else { return }
        var request = request
        request.cachePolicy = .revalidate
        loader.loadInBackground(request) { [self] in _ = validatedKeys.withLock { $0.remove(key) } }
    }
}

// MARK: - Equal requests

extension ResponseCache {
    func begin(
        _ key: CacheKey, _ candidate: CollapsedRequests.Candidate, _ load: WaitingLoad, isRepeated: Bool
    ) -> CollapsedRequests.Role {
        collapsed.withLock { $0.begin(key, candidate, load, isRepeated: isRepeated) }
    }

    func beginFirst(_ key: CacheKey, _ candidate: CollapsedRequests.Candidate) -> CollapsedRequests.Role? {
        collapsed.withLock { $0.beginFirst(key, candidate) }
    }

    /// The response to a request answers no more loads. Those that wait for it continue.
    func end(_ key: CacheKey, _ id: CollapsedRequests.RequestID, _ end: WaitingLoad.End) {
        for load in collapsed.withLock({ $0.end(key, id) }) { load.end(end) }
    }

    /// - Returns: whether the load was waiting.
    @discardableResult
    func remove(_ load: WaitingLoad, _ key: CacheKey) -> Bool {
        // If it is not in the list, its wait is ending on another thread.
        guard collapsed.withLock({ $0.remove(load, key) }) else { return false }
        load.cancel()
        return true
    }

    func isShareable(_ response: StoredResponse) -> Bool { CacheLookup.isShareable(response, now: now()) }

    func record(_ key: CacheKey, isShareable: Bool) { collapsed.withLock { $0.record(key, isShareable: isShareable) } }

    /// The number of loads that wait for other ones.
    var waitingLoadCount: Int { collapsed.withLock { $0.waitingCount } }
    var sentRequestCount: Int { collapsed.withLock { $0.sentCount } }
}

extension Loader.Configuration {
    /// The cache in which the loader stores responses; `nil` for none.
    public var cache: ResponseCache? {
        get { responseCache as? ResponseCache }
        set { responseCache = newValue }
    }
}

extension Response {
    /// What the loader's cache did with the request (RFC 9211); `nil` if the loader has no cache, or did not use it for
    /// the request. ``CacheStatus/statuses(in:)`` reads what other caches say in the fields.
    public internal(set) var cacheStatus: CacheStatus? {
        get { anyCacheStatus as? CacheStatus }
        set { anyCacheStatus = newValue }
    }
}

extension ResponseCache: LoadCache {
    /// GET and HEAD requests can be answered, and unsafe requests remove stored responses. Any other request fails if
    /// only the cache may answer it. Otherwise it does not use the cache.
    package func makeHandler(inFrontOf next: RegisteredHandler, for request: Request, loader: Loader) -> (any CacheHandler)? {
        let isAnswerable = (request.method == .get || request.method == .head) && request.body == nil
        guard isAnswerable || !request.method.isSafe || request.cachePolicy == .onlyCached else { return nil }
        let hasPassed = request.visitedHandlers.contains { $0.handler == CachingHandler.identifier && $0.url == request.url }
        return hasPassed ? nil : CachingHandler(cache: self, next: next, loader: loader)
    }
}
