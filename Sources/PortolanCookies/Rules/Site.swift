// SPDX-License-Identifier: Apache-2.0

public import PortolanURL

/// A site: a scheme and a registrable domain, such as `https` and `example.co.uk`.
///
/// Hosts of one site are assumed to trust each other. Two schemes are two sites. HTML, "schemelessly same site"; RFC
/// 6265bis §5.2
public struct Site: Hashable, Sendable, CustomStringConvertible {
    public let scheme: String
    /// The registrable domain, or the host if it has none: an address, `localhost`, a public suffix.
    public let domain: String

    public init(scheme: String, domain: String) {
        self.scheme = scheme
        self.domain = domain
    }

    /// The site of a URL. A URL without a host has none.
    public init?(_ url: URLRecord) {
        guard let host = url.host, !host.isEmpty else { return nil }
        self.init(scheme: String(url.scheme), domain: PublicSuffixList.registrableDomain(of: host) ?? String(host))
    }

    public var description: String { "\(scheme)://\(domain)" }
}
