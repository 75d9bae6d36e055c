// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Decides which proxy a URL is loaded through.
///
/// A proxy is written `[scheme://][user[:password]@]host[:port]`, with user and password percent-encoded. The schemes
/// are `http` (the default), `https`, `socks5` and `socks5h`. With `https`, the connection to the proxy uses TLS. An
/// `http` or `https` proxy is asked for a tunnel for `https:` URLs. With `socks5h`, the proxy resolves the hosts. The
/// default port is 1080, and 443 for `https`. A malformed proxy fails the loads that would use it, with a message that
/// describes the fault.
public struct ProxyPolicy: Sendable, Hashable {
    enum Source: Sendable, Hashable {
        case none
        case environment
        case named(String, except: String)
    }

    let source: Source
    /// What proxies without a user in their URL get, by Basic and without a challenge.
    var credential: PasswordCredential?

    /// Connects to the origin without a proxy, whatever the environment says.
    public static let direct = Self(source: .none)

    /// Uses the proxies of the environment, from the variables that curl reads.
    ///
    /// `http_proxy` is for `http:`. `HTTP_PROXY` is never read, because the client of a CGI program can set it.
    /// `https_proxy` or `HTTPS_PROXY` is for `https:`. `all_proxy` or `ALL_PROXY` applies if there is none for the
    /// scheme. `no_proxy` or `NO_PROXY` has the exceptions. An empty variable counts as unset. The variables are read
    /// when a handler's first load starts. They are not read in a program with more rights than its user has
    /// (`secure_getenv(3)`).
    public static let environment = Self(source: .environment)

    /// Uses one proxy for everything but some hosts.
    ///
    /// - Parameters:
    ///   - url: the URL of the proxy; its scheme is `http`, `https`, `socks5` or `socks5h`.
    ///   - exceptions: hosts, separated by commas or blanks. `example.com` is that host and all hosts below it, with or
    ///     without a dot in front. An address is itself. `10.0.0.0/8` or `fd00::/8` is all addresses of that block.
    ///     Only addresses in the URL match, because no name is looked up for this. `*` alone is every host. An entry
    ///     with a port matches no host, as with curl.
    public static func proxy(_ url: String, except exceptions: String = "") -> Self {
        Self(source: .named(url, except: exceptions))
    }
}

extension ProxyPolicy {
    /// Sends a user name and a password to proxies without a user in their URL, as if they were in it.
    package mutating func sendCredential(user: String, password: String) {
        credential = PasswordCredential(user: user, password: password)
    }
}

extension Request {
    private static let proxyName = "org.portolan.http.proxy"

    /// The proxy for this request, in the form that ``ProxyPolicy`` describes, or `direct`. `nil`, the default, means
    /// that the policy of the handler decides.
    ///
    ///     request.proxy = "socks5h://127.0.0.1:9050"
    public var proxy: String? {
        get {
            guard case .text(let text) = properties[Self.proxyName] else { return nil }
            return text
        }
        set { properties[Self.proxyName] = newValue.map { .text($0) } }
    }
}
