// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan

/// Options for `http:` and `https:` connections.
struct HTTPOptions: ParsableArguments {
    @Option(
        name: .customLong("connect-timeout"),
        help: ArgumentHelp(
            "Give up on a connection that takes longer than this, from the name's look-up to the end of the TLS handshake; 30 without it, or with 0.",
            valueName: "seconds"), transform: Seconds.init(parsing:))
    var connectTimeout: Seconds?

    @Flag(name: .customLong("http1.1"), help: "Use HTTP/1.1, even where the server can do HTTP/2.")
    var usesHTTP1 = false

    /// Accepted for compatibility with curl: over TLS, HTTP/2 is requested by default.
    @Flag(name: .customLong("http2"), help: .hidden)
    var usesHTTP2 = false

    @Option(
        name: .customLong("cacert"), parsing: .unconditional,
        help: ArgumentHelp("Trust the authorities in this file or folder, and no others.", valueName: "file"), completion: .file())
    var authorities: String?

    @Option(
        name: [.customShort("E"), .customLong("cert")], parsing: .unconditional,
        help: ArgumentHelp("Show this certificate to servers that ask for one.", valueName: "file"), completion: .file())
    var certificate: String?

    @Option(
        name: .customLong("key"), parsing: .unconditional,
        help: ArgumentHelp("The certificate's key, where it is not in the same file.", valueName: "file"), completion: .file())
    var key: String?

    @Option(
        name: .customLong("pass"), parsing: .unconditional, help: ArgumentHelp("What the key is encrypted with.", valueName: "passphrase"))
    var passphrase: String?

    @Flag(name: [.customShort("k"), .customLong("insecure")], help: "Trust every server, whoever it is.")
    var trustsEveryServer = false

    @Option(
        name: [.customShort("x"), .customLong("proxy")], parsing: .unconditional,
        help: ArgumentHelp(
            "Connect through this proxy, '[http://|https://|socks5://|socks5h://]host[:port]', instead of those that the environment names; '' for none.",
            valueName: "url"))
    var proxy: String?

    @Option(
        name: .customLong("noproxy"), parsing: .unconditional,
        help: ArgumentHelp("Hosts for which no proxy is used, as in the variable no_proxy.", valueName: "hosts"))
    var directHosts: String?

    @Option(
        name: [.customShort("U"), .customLong("proxy-user")], parsing: .unconditional,
        help: ArgumentHelp("Answer a proxy that asks for a user name and password with these.", valueName: "user:password"))
    var proxyUser: String?

    func validate() throws {
        if certificate == nil, key != nil || passphrase != nil {
            throw ValidationError("--key and --pass belong to --cert; name the certificate")
        }
        if let proxyUser, !proxyUser.contains(":") { throw ValidationError("--proxy-user: write user:password") }
        if proxy == nil, let directHosts, directHosts != "*" {
            throw ValidationError("--noproxy names exceptions of --proxy; those of the environment's proxies stand in no_proxy")
        }
    }

    var proxyPasswords: PasswordAnswer? {
        proxyUser.map { PasswordAnswer(argument: $0, for: .proxy) }
    }

    /// Returns the configuration. Files are read when the first secure connection is opened.
    ///
    /// - Throws: ``Failure`` if `--cert` contains a passphrase, as with curl.
    func configuration() throws(Failure) -> HTTPConfiguration {
        var configuration = HTTPConfiguration()
        if let connectTimeout = connectTimeout?.duration { configuration.connections.connectTimeout = connectTimeout }
        if usesHTTP1 { configuration.allowsHTTP2 = false }
        if let authorities { configuration.tls.trustRoots = .only([.file(path: authorities)]) }
        if let certificate {
            try Self.refusePassphrase(in: certificate)
            configuration.tls.identity = ClientIdentity(certificatePath: certificate, keyPath: key, passphrase: passphrase)
        }
        if trustsEveryServer { configuration.tls.verification = .none }
        if let policy = proxyPolicy { configuration.proxies = policy }
        return configuration
    }

    /// Rejects curl's syntax, in which the passphrase follows the file name and a colon.
    private static func refusePassphrase(in path: String) throws(Failure) {
        guard FileSystem.kind(at: path) == nil else { return }
        for colon in path.indices where path[colon] == ":" {
            let file = String(path[..<colon])
            guard case .regular? = FileSystem.kind(at: file) else { continue }
            let message = "--cert: there is no file '\(file):…', but there is '\(file)'; give its passphrase with --pass"
            throw Failure(LoadError(.clientCertificateUnusable, message: message))
        }
    }

    /// `nil`: the environment selects the proxy.
    private var proxyPolicy: ProxyPolicy? {
        if proxy?.isEmpty == true || directHosts == "*" { return .direct }
        return proxy.map { .proxy($0, except: directHosts ?? "") }
    }
}
