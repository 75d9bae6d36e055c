// SPDX-License-Identifier: Apache-2.0

package import PortolanURL

/// A site: a scheme and a registrable domain, such as `https` and `example.co.uk`.
///
/// Hosts of one site are assumed to trust each other. Two schemes are two sites. HTML, "same site"; RFC 6265bis §5.2
package struct Site: Hashable, Sendable, CustomStringConvertible {
    package let scheme: String
    /// The registrable domain, or the host if it has none: an address, `localhost`, a public suffix.
    package let domain: String

    package init(scheme: String, domain: String) {
        self.scheme = scheme
        self.domain = domain
    }

    /// The site of a URL. A URL without a host has none.
    package init?(_ url: URLRecord) {
        guard let host = url.host, !host.isEmpty else { return nil }
        self.init(scheme: String(url.scheme), domain: PublicSuffixList.registrableDomain(of: host) ?? String(host))
    }

    package var description: String { "\(scheme)://\(domain)" }
}
