// SPDX-License-Identifier: Apache-2.0

public import PortolanCore

/// Decides through which proxy a URL is loaded.
///
/// A proxy is written `[scheme://][user[:password]@]host[:port]`, user and password percent-encoded. The schemes are `http` (the default) and `https`, with TLS to the proxy (
/// for `https:` URLs it is asked for a tunnel), `socks5`, and `socks5h`, where the proxy finds the addresses of hosts. The port is 1080 where none
/// is written. A proxy that is written wrongly fails the loads that would use it, with a message that says what is wrong.
public struct ProxyPolicy: Sendable, Hashable {
    enum Source: Sendable, Hashable {
        case none
        case environment
        case named(String, except: String)
    }

    let source: Source

    /// Straight to the origin, whatever the environment says.
    public static let direct = Self(source: .none)

    /// What the environment says, in the variables that curl reads.
    ///
    /// `http_proxy` for `http:` (never `HTTP_PROXY`, which a CGI program's client can set), `https_proxy` or `HTTPS_PROXY` for `https:`;
    /// `all_proxy` or `ALL_PROXY` where there is none for the scheme; and as exceptions `no_proxy` or `NO_PROXY`. An empty variable counts as none.
    /// They are read when a handler's first load starts, and not at all in a program with more rights than its user has (`secure_getenv(3)`).
    public static let environment = Self(source: .environment)

    /// One proxy for everything but some hosts.
    ///
    /// - Parameters:
    ///   - url: the proxy's; its scheme is `http`, `https`, `socks5` or `socks5h`.
    ///   - exceptions: separated by commas or blanks: `example.com` is that host and all below it, with or without a dot in front;
    ///     an address is itself, `10.0.0.0/8` or `fd00::/8` all addresses of that block (those that a URL names: no name is looked up for it);
    ///     `*` alone is every host. An entry with a port means no host, as with curl.
    public static func proxy(_ url: String, except exceptions: String = "") -> Self {
        Self(source: .named(url, except: exceptions))
    }
}

/// Through which proxy one request goes, whatever the handler's ``ProxyPolicy`` says: a proxy as that one has it, or `direct`.
///
///     request[RequestProxy.self] = "socks5h://127.0.0.1:9050"
public enum RequestProxy: RequestPropertyKey {
    public static let name = "org.portolan.http.proxy"
    public typealias Value = String
}
