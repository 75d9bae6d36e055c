// SPDX-License-Identifier: Apache-2.0

/// What the cache had for a request, before and after it.
package struct ArchivedCache: Sendable {
    package enum State: Sendable {
        case unknown
        /// No response was stored for the URL.
        case absent
        case entry(Entry)
    }

    /// A stored response. Times are in seconds since 1970.
    package struct Entry: Sendable {
        /// When the response becomes stale; `nil` if that is unknown.
        package var expiry: Double?
        /// When a request used it last, or stored it.
        package var lastUse: Double
        /// Empty for a response without an entity tag.
        package var entityTag: String
        package var useCount: Int64

        package init(expiry: Double?, lastUse: Double, entityTag: String, useCount: Int64) {
            (self.expiry, self.lastUse, self.entityTag, self.useCount) = (expiry, lastUse, entityTag, useCount)
        }
    }

    package var before = State.unknown
    package var after = State.unknown
    /// What the cache did, and why.
    package var comment: String

    package init(comment: String) { self.comment = comment }
}
