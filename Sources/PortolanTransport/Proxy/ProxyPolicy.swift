// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Decides which proxy a URL is loaded through.
///
/// A proxy is written `[scheme://][user[:password]@]host[:port]`, with user and password percent-encoded. The schemes
/// are `http` (the default), `https`, `socks5` and `socks5h`. With `https`, the connection to the proxy uses TLS. For
/// `https:` URLs, the client requests a tunnel from an `http` or `https` proxy. With `socks5h`, the proxy resolves the
/// hosts. The default port is 1080, and 443 for `https`. If a proxy is malformed, the loads that need it fail, with a
/// message that describes the error.
public struct ProxyPolicy: Sendable, Hashable {
    enum Source: Sendable, Hashable {
        case none
        /// - Parameter exceptions: replace those of the environment; `nil` for those of the environment.
        case environment(except: String?)
        case named(String, except: String)
    }

    let source: Source
    /// The credential for proxies without a user in their URL. It is sent without a challenge: by Basic, or in the
    /// SOCKS5 log-in.
    var credential: PasswordCredential?
    /// Where the credential comes from, for the log.
    var credentialSource: String?

    /// Whether an `http` or `https` proxy makes a tunnel also for `http:` URLs, instead of reading the requests. By
    /// default `false`. Many proxies make tunnels only to port 443.
    public var alwaysTunnels = false

    /// Whether a request that a proxy reads is sent with an empty body until the proxy has sent a challenge.
    package var delaysBodies = false

    /// Connects to the origin without a proxy. Ignores the environment.
    public static let direct = Self(source: .none)

    /// Uses the proxies of the environment, from the variables that curl reads.
    ///
    /// `http_proxy` is for `http:`. `HTTP_PROXY` is never read, because the client of a CGI program can set it.
    /// `https_proxy` or `HTTPS_PROXY` is for `https:`. `all_proxy` or `ALL_PROXY` applies if the variable for the
    /// scheme is not set. `no_proxy` or `NO_PROXY` lists the exceptions. An empty variable counts as unset. The
    /// variables are read when a handler's first load starts. They are not read in a set-uid program
    /// (`secure_getenv(3)`).
    public static let environment = Self(source: .environment(except: nil))

    /// Uses the proxies of the environment for all hosts except these, instead of the exceptions of the environment.
    ///
    /// - Parameter exceptions: as for ``proxy(_:except:)``.
    public static func environment(except exceptions: String) -> Self {
        Self(source: .environment(except: exceptions))
    }

    /// Uses one proxy for all hosts except some.
    ///
    /// - Parameters:
    ///   - url: the URL of the proxy; its scheme is `http`, `https`, `socks5` or `socks5h`.
    ///   - exceptions: hosts, separated by commas or blanks. `example.com` and `.example.com` match that host and its
    ///     subdomains. `10.0.0.0/8` or `fd00::/8` matches all addresses of that block. Names are not resolved, so an
    ///     address matches only if the URL has an address. `*`, as the only entry, matches every host. An entry with a
    ///     port matches no host, as with curl.
    public static func proxy(_ url: String, except exceptions: String = "") -> Self {
        Self(source: .named(url, except: exceptions))
    }
}

extension ProxyPolicy {
    /// Sets the user name and the password for proxies without a user in their URL.
    ///
    /// - Parameter source: where they come from, for the log.
    package mutating func sendCredential(user: String, password: String, from source: String) {
        credential = PasswordCredential(user: user, password: password)
        credentialSource = source
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
