// SPDX-License-Identifier: Apache-2.0

package import PortolanURL

/// The key of the stored responses for one URL.
///
/// The URL is that of the canonical request, after an upgrade to `https` and before cookies and credentials are added.
///
/// RFC 9111 §2
package struct CacheKey: Hashable, Sendable {
    /// Without a fragment and without user information.
    package let url: URLRecord
    /// The site of the top-level document, if the configuration asks for a partitioned cache; `nil` otherwise.
    package let partition: String?

    package init(_ url: URLRecord, partition: String? = nil) {
        self.url = url.withoutFragment.withoutCredentials
        self.partition = partition
    }
}
