// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore
package import PortolanURL

/// A place for stored responses: memory, a folder, or a server. It keeps entries and knows no rule of caching, except
/// ``Variants``.
///
/// No call blocks or waits for a disk or a network. A store that needs time does its work on threads of its own. A
/// store that has failed, or is full, behaves like an empty one: it finds nothing and accepts nothing. It never fails a
/// load. Can be used on any thread.
///
/// # How a load uses the store
///
/// Request side, for a handler with the trait `cacheable`, before cookies and credentials are added:
///
/// 1. Make a ``CacheKey`` of the canonical request, and a ``CacheLookup`` of its method, fields and policy.
/// 2. Unless the policy is `noStore` or `reload`, call ``immediateEntries(for:)`` or ``lookUp(_:_:)``, and then
///    ``CacheLookup/decide(_:)`` with the `stored` values of the entries. The decision names an entry by its index.
/// 3. `use`: deliver ``CacheEntry/response(_:_:length:)`` with the fields of ``StoredFields``, and then the octets of
///    ``CacheBody/makeReader(of:)``. With `needsRevalidation`, do step 4 in the background, too.
/// 4. `validate` and `load`: send the fields of ``Validation/request(_:_:chosen:)``, with the index that
///    ``CacheLookup/choose(_:)`` returns. Before that, look for a load of the same key that is under way
///    (``CacheLookup/mayWait(for:)``).
/// 5. `complete`: send the fields of ``Completion``.
/// 6. `fail`: deliver a 504 without body, or an error if the policy is `onlyCached`.
///
/// Client side (interim responses, and responses after which the load sends its request again, are not stored):
///
/// 1. 304 to a conditional request: ``Validation/outcome(of:_:_:_:)``. `update`: make the new values with
///    `StoredResponse.updated`, call ``update(_:to:)`` or, if a value is not storable, ``remove(_:)``, and answer as in
///    step 3 above.
/// 2. An error, or a 5xx response: ``CacheLookup/decide(afterError:_:)`` can name an entry to use in its place.
/// 3. Any final response: ``Invalidation/urls(method:url:status:fields:)`` and ``Invalidation/clearsCache(_:of:)`` say
///    what to ``remove(_:)``. After HEAD, ``Validation/effect(ofHead:_:request:on:)`` says what to do with each entry.
/// 4. Any other response: ``Storability/check(method:request:status:fields:transfer:now:)`` and the delegate's consent,
///    and then ``openWriter(_:)``. The fields are those of ``StoredFields/storable(_:)``.
/// 5. Data: ``CacheWriter/write(_:)``, and deliver the same octets to the next client. `false` ends the writing, but
///    not the load.
/// 6. End: ``CacheWriter/finish(_:trailers:)`` with the content. After an error or a cancellation: check storability
///    again with `isComplete: false`, and finish with a partial content, or ``CacheWriter/discard()``.
package protocol CacheStore: Sendable {
    /// Finds all entries for a key.
    ///
    /// - Parameter completion: called once, on any thread, possibly before this function returns. It must not block.
    func lookUp(_ key: CacheKey, _ completion: @escaping @Sendable ([CacheEntry]) -> Void)

    /// Finds all entries for a key, if that needs no input or output, and if no other user of the store can ask for a
    /// lease (``claim(_:_:)``).
    ///
    /// - Returns: `nil` if ``lookUp(_:_:)`` must be called.
    func immediateEntries(for key: CacheKey) -> [CacheEntry]?

    /// Begins to store a response. The entry is not visible before its writer has finished.
    ///
    /// - Returns: `nil` if the store does not accept the response, for example because it is too large.
    func openWriter(_ opening: CacheOpening) -> (any CacheWriter)?

    /// Replaces the stored response of an entry after a validation. The body stays. Does nothing if the entry was
    /// removed in the meantime.
    func update(_ id: CacheEntry.ID, to stored: StoredResponse)

    /// Removes entries. Responses that are being written for their keys do not become visible either: they could be
    /// older than the reason for the removal.
    func remove(_ selection: CacheSelection)

    /// Asks to be the only load that requests a response for a key, among all users of the store on all machines. A
    /// load that does not ask is no error: two loads can then request the same response.
    ///
    /// - Parameter completion: called once, on any thread, possibly before this function returns. It must not block.
    ///   A store lets a load wait only for a short time.
    func claim(_ key: CacheKey, _ completion: @escaping @Sendable (CacheClaim) -> Void)

    /// Writes the changes that were made before the call, if the store writes them later.
    ///
    /// - Parameter completion: called once, on any thread, possibly before this function returns. It must not block.
    func flush(_ completion: @escaping @Sendable () -> Void)
}

extension CacheStore {
    /// A store without later writes has nothing to do.
    package func flush(_ completion: @escaping @Sendable () -> Void) { completion() }
}

extension CacheStore {
    package func immediateEntries(for key: CacheKey) -> [CacheEntry]? { nil }
}

/// Receives the body of one response while the caller receives it, too. One call at a time.
///
/// A writer that is released before its end is discarded.
package protocol CacheWriter: AnyObject, Sendable {
    /// Appends a copy of the octets.
    ///
    /// - Returns: `false` if the response will not be stored, because it is too large, or the store is full, failed or
    ///   too slow. The writer is then discarded, and further calls do nothing.
    func write(_ bytes: borrowing RawSpan) -> Bool

    /// Makes the entry visible, and removes those that it replaces (``Variants``). The last call. A look-up that begins
    /// after this call finds the entry. Loads that wait for the response look it up then.
    ///
    /// - Parameter stored: the response, whose content says which octets it has: all of them, or the part that was
    ///   received. They must be the octets that were written, together with those of the extended entry. Otherwise
    ///   nothing is stored.
    func finish(_ stored: StoredResponse, trailers: HTTPFields?)

    /// Stores nothing. The last call.
    func discard()
}

/// What a store has to know before it accepts a response.
package struct CacheOpening: Sendable {
    package let key: CacheKey
    package let attributes: CacheAttributes
    /// The fields of the request as the rules saw them. Selects the entries that the new one replaces.
    package let request: HTTPFields
    /// The number of octets that will be written; `nil` if it is not known.
    package var expectedLength: Int64?
    /// The position of the first written octet in the representation: the start of a 206 response's range, or 0.
    package var position: Int64 = 0
    /// The incomplete entry whose octets, together with the written ones, become the new entry. Where both have an
    /// octet, the written one counts. If the entry is removed in the meantime, nothing is stored.
    package var extended: CacheEntry.ID?
    /// Whether the response may be stored where it outlives the process.
    package var policy = CacheStoragePolicy.allowed

    package init(_ key: CacheKey, _ attributes: CacheAttributes, request: HTTPFields) {
        (self.key, self.attributes, self.request) = (key, attributes, request)
    }
}

/// Which entries to remove.
package enum CacheSelection: Sendable {
    case entry(CacheEntry.ID)
    /// All entries for a URL, in all partitions. The fragment does not matter.
    case url(URLRecord)
    /// All entries for the URLs of an origin, in all partitions.
    case origin(URLRecord)
    /// All entries for the URLs of a host, in all partitions, with any scheme and port.
    case host(String)
    /// All entries that were received or validated at or after a time, in seconds since 1970.
    case since(Int64)
    case all

    /// Whether the selection contains an entry with this identifier, key and time. The identifier is `nil` for a
    /// response that is not stored yet.
    package func contains(_ id: CacheEntry.ID?, _ key: CacheKey, responseTime: Int64) -> Bool {
        switch self {
        case .entry(let selected): id == selected
        case .url(let url): CacheKey(url).url == key.url
        case .origin(let url): key.url.hasSameOrigin(as: url)
        case .host(let host): key.url.host == host[...]
        case .since(let time): responseTime >= time
        case .all: true
        }
    }
}
