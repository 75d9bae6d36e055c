// SPDX-License-Identifier: Apache-2.0

/// The origins to which one load sends passwords of a netrc file.
///
/// An entry of the file names a host without a scheme, and usually without a port. In one load it serves the first
/// origin of its host: a redirect to another port of the host, or to another scheme, gets no password. A redirect from
/// `http:` to `https:` is an exception if both URLs have the same port or both have none, as after HSTS. After a
/// request over TLS, nothing is sent over `http:`. An entry that names its port serves this port after each redirect
/// that keeps TLS.
///
/// curl 7.88 sends the entry to each port of its host.
package struct NetrcOrigins: Sendable {
    /// How many hosts of one load can get a password.
    private static let limit = 64

    /// The first URL of each host.
    private var firstURLs: [URLRecord] = []
    private var hasUsedTLS = false

    package init() {}

    /// Records a URL that the load requests.
    package mutating func visit(_ url: URLRecord) {
        if url.scheme == "https" { hasUsedTLS = true }
        guard let host = url.host, firstURLs.count < Self.limit, !firstURLs.contains(where: { $0.host == host }) else { return }
        firstURLs.append(url)
    }

    /// Why a URL gets no password of the file; `nil` if it can get one.
    ///
    /// - Parameter isForPort: whether the entry names the URL's port.
    package func problem(with url: URLRecord, isForPort: Bool = false) -> String? {
        if hasUsedTLS, url.scheme == "http" { return "the load has used TLS, and this request does not" }
        if isForPort { return nil }
        guard let origin = firstURLs.first(where: { $0.host == url.host }) else {
            return firstURLs.count < Self.limit ? nil : "the load was redirected to too many hosts"
        }
        let addsTLS = origin.scheme == "http" && url.scheme == "https" && origin.port == url.port
        if addsTLS || url.hasSameOrigin(as: origin) { return nil }
        return "the load has used another scheme or port of this host, and the password stays there"
    }
}
