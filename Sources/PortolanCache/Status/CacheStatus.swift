// SPDX-License-Identifier: Apache-2.0

/// How one cache has handled a request: a member of the field `Cache-Status`.
///
///     Cache-Status: ExampleCache; hit; ttl=376
///     Cache-Status: OriginCache; fwd=stale; fwd-status=304; stored, "CDN at Example"; fwd=uri-miss
///
/// RFC 9211 §2
public struct CacheStatus: Hashable, Sendable {
    /// Why a cache has sent a request on.
    ///
    /// RFC 9211 §2.2
    public struct ForwardReason: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The cache does not handle this request.
        public static let bypass = Self(rawValue: "bypass")
        /// Only the origin server can handle the method.
        public static let method = Self(rawValue: "method")
        /// No response is stored for the URL.
        public static let uriMiss = Self(rawValue: "uri-miss")
        /// No stored response for the URL matches the fields that `Vary` names.
        public static let varyMiss = Self(rawValue: "vary-miss")
        /// No stored response answers the request.
        public static let miss = Self(rawValue: "miss")
        /// A stored response is fresh, but a directive of the request does not allow its use.
        public static let request = Self(rawValue: "request")
        /// The stored response is stale.
        public static let stale = Self(rawValue: "stale")
        /// The stored response lacks octets that the request wants.
        public static let partial = Self(rawValue: "partial")
    }

    /// What happened to a request that the cache has sent on.
    public struct Forward: Hashable, Sendable {
        public var reason: ForwardReason
        /// The status of the response that the cache received; `nil` if it is not known.
        public var status: Int?
        /// Whether the cache has stored the response.
        public var isStored = false
        /// Whether the response to another request, which was already under way, answers this one.
        public var isCollapsed = false

        public init(_ reason: ForwardReason, status: Int? = nil, isStored: Bool = false, isCollapsed: Bool = false) {
            (self.reason, self.status, self.isStored, self.isCollapsed) = (reason, status, isStored, isCollapsed)
        }
    }

    public enum Source: Hashable, Sendable {
        /// The cache has answered the request without sending it on.
        case hit
        case forward(Forward)
    }

    /// The name of the cache.
    public var cacheName: String
    /// Whether the cache has answered the request; `nil` if the cache does not say it.
    public var source: Source?
    /// The seconds until the response is stale; negative for a stale response. `nil` if they are not known.
    public var timeToLive: Int64?
    /// The key of the response in the cache.
    public var key: String?
    /// Additional information, in no particular form.
    public var detail: String?

    /// Why the loader's cache has answered the request, or has sent it on; `nil` for another cache.
    package internal(set) var reason: CacheReason?
    /// Why the loader's cache does not store the response; `nil` if it does, or if there is nothing to store.
    package internal(set) var refusal: String?
    /// How the stored response that answers the request was used before; `nil` if that is not known.
    package internal(set) var previousUse: CacheEntry.Use?

    public init(cacheName: String, source: Source? = nil, timeToLive: Int64? = nil, key: String? = nil, detail: String? = nil) {
        (self.cacheName, self.source, self.timeToLive) = (cacheName, source, timeToLive)
        (self.key, self.detail) = (key, detail)
    }
}
