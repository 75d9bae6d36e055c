// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan
import PortolanCore
import PortolanFileSystem
import PortolanTransport

/// Options for `http:` and `https:` connections.
struct HTTPOptions: ParsableArguments {
    @Option(
        name: .customLong("connect-timeout"), parsing: .unconditional,
        help: ArgumentHelp(
            "Fail if a connection takes longer than this, from the DNS lookup to the end of the TLS handshake (default: 30; 0 means the default).",
            valueName: "seconds"), transform: Seconds.init(parsing:))
    var connectTimeout: Seconds?

    @Flag(name: .customLong("http1.1"), help: "Use HTTP/1.1, even if the server supports HTTP/2.")
    var usesHTTP1 = false

    @Flag(name: .customLong("tlsv1.0"), help: "Accept TLS 1.0 and later versions.")
    var acceptsTLS1_0 = false
    @Flag(name: .customLong("tlsv1.1"), help: "Accept TLS 1.1 and later versions.")
    var acceptsTLS1_1 = false
    @Flag(name: .customLong("tlsv1.2"), help: "Accept TLS 1.2 and later versions, which is the default.")
    var acceptsTLS1_2 = false
    @Flag(name: .customLong("tlsv1.3"), help: "Accept only TLS 1.3.")
    var acceptsTLS1_3 = false

    @Option(
        name: .customLong("tls-max"), parsing: .unconditional,
        help: ArgumentHelp("Accept no later version of TLS than this: 1.0, 1.1, 1.2 or 1.3.", valueName: "version"),
        transform: Self.parseTLSVersion)
    var maximumTLSVersion: TLSSettings.Version?

    @Option(
        name: .customLong("resolve"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "Use this address for a host and port, instead of DNS; * is any host. Can be repeated.", valueName: "host:port:address[,…]"))
    var resolutions: [String] = []

    @Option(
        name: .customLong("connect-to"), parsing: .unconditionalSingleValue,
        help: ArgumentHelp(
            "For URLs of the first host and port, connect to the second ones. An empty part means any, or no change. Can be repeated.",
            valueName: "host:port:host:port"))
    var connectTargets: [String] = []

    @Flag(name: .customLong("ipv4"), help: "Use only IPv4 addresses of DNS (-4).")
    var usesIPv4 = false

    @Flag(name: .customLong("ipv6"), help: "Use only IPv6 addresses of DNS (-6).")
    var usesIPv6 = false

    /// Accepted for compatibility with curl. It has no effect, because HTTP/2 is the default over TLS.
    @Flag(name: .customLong("http2"), help: .hidden)
    var usesHTTP2 = false

    @Option(
        name: [.customLong("cacert"), .customLong("capath")], parsing: .unconditional,
        help: ArgumentHelp("Trust only the certificate authorities in this file or folder.", valueName: "file"), completion: .file())
    var authorities: String?

    @Option(
        name: [.customShort("E", allowingJoined: true), .customLong("cert")], parsing: .unconditional,
        help: ArgumentHelp("Send this client certificate if the server requests one.", valueName: "file"), completion: .file())
    var certificate: String?

    @Option(
        name: .customLong("key"), parsing: .unconditional,
        help: ArgumentHelp("The certificate's private key, if it is not in the same file.", valueName: "file"), completion: .file())
    var key: String?

    @Option(
        name: .customLong("pass"), parsing: .unconditional,
        help: ArgumentHelp("The passphrase of an encrypted key.", valueName: "passphrase"))
    var passphrase: String?

    @Flag(name: [.customShort("k"), .customLong("insecure")], help: "Trust every server: do not check certificates.")
    var trustsEveryServer = false

    @Option(
        name: [.customShort("x", allowingJoined: true), .customLong("proxy")], parsing: .unconditional,
        help: ArgumentHelp(
            "Connect through this proxy, '[http://|https://|socks5://|socks5h://]host[:port]', instead of the proxy in the environment variables; '' for none.",
            valueName: "url"))
    var proxy: String?

    @Flag(
        name: [.customShort("p"), .customLong("proxytunnel")],
        help: "Request a tunnel from the proxy also for http: URLs (CONNECT).")
    var usesTunnel = false

    @Option(
        name: .customLong("socks5"), parsing: .unconditional,
        help: ArgumentHelp("Connect through this SOCKS proxy; the same as --proxy socks5://host:port.", valueName: "host[:port]"))
    var socksProxy: String?

    @Option(
        name: .customLong("socks5-hostname"), parsing: .unconditional,
        help: ArgumentHelp("The same as --proxy socks5h://host:port: the proxy resolves the names of hosts.", valueName: "host[:port]"))
    var resolvingSOCKSProxy: String?

    @Option(
        name: .customLong("noproxy"), parsing: .unconditional,
        help: ArgumentHelp("Connect directly to these hosts, instead of those of the environment variable no_proxy.", valueName: "hosts"))
    var hostsWithoutProxy: String?

    @Option(
        name: [.customShort("U", allowingJoined: true), .customLong("proxy-user")], parsing: .unconditional,
        help: ArgumentHelp("The user name and password for the proxy.", valueName: "user:password"))
    var proxyUser: String?

    @Flag(
        name: .customLong("proxy-anyauth"),
        help: "Send no credentials until the proxy sends a challenge (407). Then use the strongest scheme that it offers. Needs -U.")
    var waitsForProxyChallenge = false

    @Flag(
        name: .customLong("proxy-digest"),
        help: "Send no credentials until the proxy sends a challenge (407). Then use Digest only. Needs -U.")
    var usesProxyDigest = false

    /// Accepted for compatibility with curl. It has no effect, because Basic is the default.
    @Flag(name: .customLong("proxy-basic"), help: .hidden)
    var usesProxyBasic = false

    private static func parseTLSVersion(_ text: String) throws -> TLSSettings.Version {
        guard let version = ["1.0": TLSSettings.Version.tls10, "1.1": .tls11, "1.2": .tls12, "1.3": .tls13, "default": .tls13][text] else {
            throw ValidationError("the versions are 1.0, 1.1, 1.2 and 1.3")
        }
        return version
    }

    /// The latest version of the options `--tlsv1.0` to `--tlsv1.3`; `nil` if none of them is given.
    private var minimumTLSVersion: TLSSettings.Version? {
        acceptsTLS1_3 ? .tls13 : acceptsTLS1_2 ? .tls12 : acceptsTLS1_1 ? .tls11 : acceptsTLS1_0 ? .tls10 : nil
    }

    func validate() throws {
        if certificate == nil, key != nil || passphrase != nil {
            throw ValidationError("--key and --pass need --cert; name the certificate with it")
        }
        if let proxyUser, let problem = ChallengeResponder.problem(with: proxyUser, sentBy: proxyMethod) {
            throw ValidationError("--proxy-user: \(problem)")
        }
        if [proxy, socksProxy, resolvingSOCKSProxy].compactMap(\.self).count > 1 {
            throw ValidationError("--proxy, --socks5 and --socks5-hostname cannot be combined")
        }
    }

    var proxyCredentials: ChallengeResponder? {
        let source = proxyUser == nil ? "the proxy's URL" : "--proxy-user"
        return (proxyUser ?? proxyUserOfURL).map { ChallengeResponder(argument: $0, for: .proxy, by: proxyMethod, from: source) }
    }

    /// The options that have no effect, because there is no `--proxy-user`.
    var optionsWithoutUser: [String] {
        guard proxyUser == nil else { return [] }
        return [waitsForProxyChallenge ? "--proxy-anyauth" : nil, usesProxyDigest ? "--proxy-digest" : nil].compactMap(\.self)
    }

    private var proxyMethod: ChallengeResponder.Method { usesProxyDigest ? .digest : waitsForProxyChallenge ? .any : .basic }

    /// Returns the configuration. The files are read when the first TLS connection is opened.
    ///
    /// - Throws: ``Failure`` if `--cert` contains a passphrase in curl's syntax, or if a value of `--resolve` or
    ///   `--connect-to` is invalid.
    func configuration() throws(Failure) -> HTTPConfiguration {
        var configuration = HTTPConfiguration()
        if let connectTimeout = connectTimeout?.duration { configuration.connectionLimits.connectTimeout = connectTimeout }
        if usesHTTP1 { configuration.allowsHTTP2 = false }
        configuration.connectionOverrides = try overrides()
        if let authorities { configuration.tls.trustRoots = .only([.file(path: authorities)]) }
        if let certificate {
            try Self.rejectPassphrase(in: certificate)
            configuration.tls.identity = TLSIdentity(certificatePath: certificate, keyPath: key, passphrase: passphrase)
        }
        if trustsEveryServer { configuration.tls.verification = .none }
        if let policy = proxyPolicy { configuration.proxies = policy }
        configuration.proxies.alwaysTunnels = usesTunnel
        configuration.proxies.delaysBodies = proxyCredentials != nil && proxyMethod == .digest
        if let version = minimumTLSVersion { configuration.tls.minimumVersion = version }
        if let version = maximumTLSVersion { configuration.tls.maximumVersion = version }
        if let proxyUser, proxyMethod == .basic {
            let (user, password) = ChallengeResponder.parts(of: proxyUser)
            configuration.proxies.sendCredential(user: user, password: password, from: "--proxy-user")
        }
        return configuration
    }

    /// Reads `--resolve`, `--connect-to`, `--ipv4` and `--ipv6`.
    private func overrides() throws(Failure) -> ConnectionOverrides {
        var overrides = ConnectionOverrides()
        if usesIPv4 != usesIPv6 { overrides.addressFamily = usesIPv4 ? .ipv4 : .ipv6 }
        for text in resolutions {
            // In curl, - removes an entry from the DNS cache, and + makes an entry expire. There is no such cache here.
            if text.hasPrefix("-") { continue }
            let parts = Self.parts(of: text.hasPrefix("+") ? String(text.dropFirst()) : text, atMost: 3)
            guard parts.count == 3, let port = UInt16(parts[1]) else {
                throw Failure(
                    .badOptionValue, "--resolve: '\(text)' is not a host, a port and an address; write it as in example.org:443:192.0.2.7")
            }
            let addresses = parts[2].split(separator: ",").map(String.init)
            do throws(LoadError) {
                try overrides.resolve(parts[0] == "*" ? nil : parts[0], port: Int(port), to: addresses)
            } catch {
                throw Failure(.badOptionValue, "--resolve: \(error.message)")
            }
        }
        for text in connectTargets {
            let parts = Self.parts(of: text, atMost: 4)
            let ports = [1, 3].map { parts.count == 4 ? parts[$0].isEmpty ? 0 : UInt16(parts[$0]) : nil }
            guard parts.count == 4, let port = ports[0], let otherPort = ports[1] else {
                throw Failure(
                    .badOptionValue,
                    "--connect-to: '\(text)' has not two hosts and two ports; write it as in example.org:443:192.0.2.7:8443")
            }
            func host(_ text: String) -> String? { text.isEmpty ? nil : text }
            overrides.connect(
                host(parts[0]), port: port == 0 ? nil : Int(port), to: host(parts[2]), port: otherPort == 0 ? nil : Int(otherPort))
        }
        return overrides
    }

    /// Splits a text at its colons, except those within brackets.
    private static func parts(of text: String, atMost limit: Int) -> [String] {
        var parts = [""]
        var isWithinBrackets = false
        for character in text {
            if character == "[" { isWithinBrackets = true } else if character == "]" { isWithinBrackets = false }
            if character == ":", !isWithinBrackets, parts.count < limit {
                parts.append("")
            } else {
                parts[parts.count - 1].append(character)
            }
        }
        return parts
    }

    /// Rejects curl's syntax, in which the passphrase follows the file name and a colon.
    private static func rejectPassphrase(in path: String) throws(Failure) {
        guard FileSystem.kind(at: path) == nil else { return }
        for colon in path.indices where path[colon] == ":" {
            let file = String(path[..<colon])
            guard case .regular? = FileSystem.kind(at: file) else { continue }
            let message = "--cert: there is no file '\(file):…', but there is '\(file)'; give its passphrase with --pass"
            throw Failure(LoadError(.clientCertificateUnusable, message: message))
        }
    }

    /// The user name and password in the URL of the proxy, if they answer challenges instead of being sent at once.
    private var proxyUserOfURL: String? {
        guard proxyMethod != .basic, proxyUser == nil, let proxy, let end = proxy.lastIndex(of: "@") else { return nil }
        let user = proxy[..<end].split(separator: "/").last.map(String.init) ?? ""
        return PercentEncoding.decode(user.contains(":") ? user : "\(user):")
    }

    /// The URL of the proxy that an option names.
    private var namedProxy: String? {
        if proxyUserOfURL != nil, let proxy, let end = proxy.lastIndex(of: "@") {
            let scheme = proxy.firstRange(of: "://").map { String(proxy[..<$0.upperBound]) } ?? ""
            return scheme + proxy[proxy.index(after: end)...]
        }
        return proxy ?? socksProxy.map { "socks5://\($0)" } ?? resolvingSOCKSProxy.map { "socks5h://\($0)" }
    }

    /// The hosts to which the program connects without the named proxy. As with curl, the environment variable
    /// `no_proxy` also applies to `--proxy`.
    private var exceptions: String { hostsWithoutProxy ?? EnvironmentVariables["no_proxy"] ?? EnvironmentVariables["NO_PROXY"] ?? "" }

    /// `nil` if the environment variables select the proxy.
    private var proxyPolicy: ProxyPolicy? {
        if proxy?.isEmpty == true || hostsWithoutProxy == "*" { return .direct }
        return namedProxy.map { .proxy($0, except: exceptions) } ?? hostsWithoutProxy.map { .environment(except: $0) }
    }
}
