// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan

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

    /// Accepted for compatibility with curl. It has no effect, because HTTP/2 is the default over TLS.
    @Flag(name: .customLong("http2"), help: .hidden)
    var usesHTTP2 = false

    @Option(
        name: .customLong("cacert"), parsing: .unconditional,
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

    @Option(
        name: .customLong("noproxy"), parsing: .unconditional,
        help: ArgumentHelp("Connect directly to these hosts, as with the environment variable no_proxy.", valueName: "hosts"))
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

    func validate() throws {
        if certificate == nil, key != nil || passphrase != nil {
            throw ValidationError("--key and --pass need --cert; name the certificate with it")
        }
        if let proxyUser, let problem = ChallengeResponder.problem(with: proxyUser, sentBy: proxyMethod) {
            throw ValidationError("--proxy-user: \(problem)")
        }
        if proxy == nil, let hostsWithoutProxy, hostsWithoutProxy != "*" {
            throw ValidationError(
                "--noproxy names exceptions to --proxy; the variable no_proxy names exceptions to the environment's proxies")
        }
    }

    var proxyCredentials: ChallengeResponder? {
        proxyUser.map { ChallengeResponder(argument: $0, for: .proxy, by: proxyMethod, from: "--proxy-user") }
    }

    /// The options that have no effect, because there is no `--proxy-user`.
    var optionsWithoutUser: [String] {
        guard proxyUser == nil else { return [] }
        return [waitsForProxyChallenge ? "--proxy-anyauth" : nil, usesProxyDigest ? "--proxy-digest" : nil].compactMap(\.self)
    }

    private var proxyMethod: ChallengeResponder.Method { usesProxyDigest ? .digest : waitsForProxyChallenge ? .any : .basic }

    /// Returns the configuration. The files are read when the first TLS connection is opened.
    ///
    /// - Throws: ``Failure`` if `--cert` contains a passphrase in curl's syntax.
    func configuration() throws(Failure) -> HTTPConfiguration {
        var configuration = HTTPConfiguration()
        if let connectTimeout = connectTimeout?.duration { configuration.connectionLimits.connectTimeout = connectTimeout }
        if usesHTTP1 { configuration.allowsHTTP2 = false }
        if let authorities { configuration.tls.trustRoots = .only([.file(path: authorities)]) }
        if let certificate {
            try Self.rejectPassphrase(in: certificate)
            configuration.tls.identity = ClientIdentity(certificatePath: certificate, keyPath: key, passphrase: passphrase)
        }
        if trustsEveryServer { configuration.tls.verification = .none }
        if let policy = proxyPolicy { configuration.proxies = policy }
        if let proxyUser, proxyMethod == .basic {
            let (user, password) = ChallengeResponder.parts(of: proxyUser)
            configuration.proxies.sendCredential(user: user, password: password, from: "--proxy-user")
        }
        return configuration
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

    /// `nil` if the environment variables select the proxy.
    private var proxyPolicy: ProxyPolicy? {
        if proxy?.isEmpty == true || hostsWithoutProxy == "*" { return .direct }
        return proxy.map { .proxy($0, except: hostsWithoutProxy ?? "") }
    }
}
