// SPDX-License-Identifier: Apache-2.0

/// A proxy, and the client's credential for it. Requests share a connection only if their proxies are equal.
package struct Proxy: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// For `http:` URLs, the proxy receives the requests in absolute form. For `https:` URLs, it makes a tunnel
        /// (RFC 9110 §9.3.6).
        case http
        /// RFC 1928
        case socks5(NameLookUp)
    }

    /// Who resolves the host of the origin.
    package enum NameLookUp: Hashable, Sendable { case local, byProxy }

    package let kind: Kind
    /// Whether the connection to the proxy uses TLS.
    package var isSecure = false
    /// Whether the proxy makes a tunnel also for `http:` URLs.
    package var alwaysTunnels = false
    /// Lower case, ASCII, without brackets.
    let host: String
    package let port: Int
    /// The credential that is sent to the proxy; `nil` if none is sent.
    package var credential: PasswordCredential?
    /// Where the credential comes from, for the log; `nil` if it answers a challenge.
    package var credentialSource: String? {
        get { source.text }
        set { source.text = newValue }
    }
    /// Has no influence on the equality of proxies.
    private var source = Source()
    /// The challenge that the credential answers, if the proxy wants Digest; `nil` if the credential is sent by Basic.
    package var digest: DigestChallenge?

    /// Makes the `Proxy-Authorization` field; `nil` without a credential.
    package var authorization: Authorization? {
        credential.map { Authorization($0, for: digest.map(AuthenticationOffer.digest) ?? .basic(realm: nil)) }
    }

    /// Sets the credential and the scheme by which it is sent.
    ///
    /// - Parameter authorization: the answer to the proxy's challenge.
    package mutating func authorize(by authorization: Authorization) {
        if credential != authorization.credential { credentialSource = nil }
        credential = authorization.credential
        digest = if case .digest(let challenge) = authorization.offer { challenge } else { nil }
    }

    private struct Source: Hashable, Sendable {
        var text: String?

        static func == (_: Self, _: Self) -> Bool { true }
        func hash(into hasher: inout Hasher) {}
    }

    init(
        kind: Kind, isSecure: Bool = false, host: String, port: Int, credential: PasswordCredential? = nil,
        credentialSource: String? = nil
    ) {
        (self.kind, self.isSecure, self.host, self.port, self.credential) = (kind, isSecure, host, port, credential)
        self.credentialSource = credentialSource
    }

    /// Host and port, as in a URL.
    var authority: String { "\(urlHost):\(port)" }

    /// The host, with brackets if it is an IPv6 address.
    package var urlHost: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host }

    package var scheme: String {
        switch kind {
        case .http: isSecure ? "https" : "http"
        case .socks5(.local): "socks5"
        case .socks5(.byProxy): "socks5h"
        }
    }
}

extension Proxy {
    /// The proxy as the peer of a TLS session.
    package var peer: TLSPeer { TLSPeer(host: host, port: port, description: "the proxy \(self)", isProxy: true) }
}

extension Proxy: CustomStringConvertible {
    /// Does not show the credential.
    package var description: String { "\(scheme)://\(authority)" }
}
