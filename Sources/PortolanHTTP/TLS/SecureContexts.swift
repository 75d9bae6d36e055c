// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import NIOCore
import NIOSSL
import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What the TLS connections of one handler have in common. Any thread.
///
/// Making it reads files, and takes longer than a handshake: about as long as reading the system's certificates does. So it is made once, when the
/// first connection needs it, on a thread that may wait.
final class SecureContexts: Sendable {
    struct Shared: Sendable {
        let context: NIOSSLContext
        let identity: LoadedIdentity?
    }

    let settings: TLSSettings
    private let allowsHTTP2: Bool
    private let environment: @Sendable (String) -> String?
    private let shared = Mutex<[HTTPVersionChoice?: EventLoopFuture<Shared>]>([:])
    /// They read files, and trust stores take their time.
    private static let threads = LoadThreads(limit: 4)

    init(
        _ settings: TLSSettings, allowsHTTP2: Bool, environment: @escaping @Sendable (String) -> String? = { SecureContexts.variable($0) }
    ) {
        self.settings = settings
        self.allowsHTTP2 = allowsHTTP2
        self.environment = environment
    }

    /// Fails with a ``LoadError``; the next one to ask makes another try.
    ///
    /// - Parameter version: of HTTP, the only one to offer; `nil`: all that the configuration allows.
    func shared(for version: HTTPVersionChoice?, on eventLoop: any EventLoop) -> EventLoopFuture<Shared> {
        let (future, promise) = shared.withLock { shared -> (EventLoopFuture<Shared>, EventLoopPromise<Shared>?) in
            if let future = shared[version] { return (future, nil) }
            let promise = eventLoop.makePromise(of: Shared.self)
            shared[version] = promise.futureResult
            return (promise.futureResult, promise)
        }
        if let promise {
            do throws(LoadError) {
                try Self.threads.run { [self] in
                    let result = Result { try make(offering: protocols(for: version)) }
                    if case .failure = result { shared.withLock { $0[version] = nil } }
                    promise.completeWith(result)
                }
            } catch {
                shared.withLock { $0[version] = nil }
                promise.fail(error)
            }
        }
        return future.hop(to: eventLoop)
    }

    /// What ALPN offers (RFC 7301), the best first.
    private func protocols(for version: HTTPVersionChoice?) -> [String] {
        switch version {
        case .http1: ["http/1.1"]
        case .http2: ["h2"]
        case nil: allowsHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
        }
    }

    private func make(offering protocols: [String]) throws -> Shared {
        guard settings.minimumVersion <= settings.maximumVersion else {
            throw CertificateFiles.unusable(.secureConnectionFailed, "the minimum version of TLS is above the maximum; swap them")
        }
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.applicationProtocols = protocols
        configuration.minimumTLSVersion = TLSVersion(settings.minimumVersion)
        configuration.maximumTLSVersion = TLSVersion(settings.maximumVersion)
        // Who the server has to be we check ourselves: NIOSSL would look at the address of the peer, which may be a proxy's.
        configuration.certificateVerification = .noHostnameVerification
        (configuration.trustRoots, configuration.additionalTrustRoots) = try trustRoots()
        // Our close_notify is written, and the peer's not waited for (RFC 8446 §6.1): whoever closes has read all that he wants.
        configuration.shutdownTimeout = .zero
        configuration.sslContextCallback = { _, promise in TLSHandshake.serverWantsCertificate(promise) }
        let identity = try settings.identity.map(LoadedIdentity.init)
        do { return Shared(context: try NIOSSLContext(configuration: configuration), identity: identity) } catch {
            throw LoadError(.trustRootsUnusable, message: "no trust roots can be read", remedy: .nameTrustRoots, cause: error)
        }
    }

    private func trustRoots() throws(LoadError) -> (NIOSSLTrustRoots, [NIOSSLAdditionalTrustRoots]) {
        var certificates: [NIOSSLCertificate] = []
        for source in settings.trustRoots.sources {
            certificates += try CertificateFiles.certificates(from: source, for: .trustRoot)
        }
        guard settings.trustRoots.includesSystem else { return (.certificates(certificates), []) }
        // As OpenSSL and curl read them.
        let named =
            (value(of: "SSL_CERT_FILE").map { [$0] } ?? []) + (value(of: "SSL_CERT_DIR")?.split(separator: ":").map(String.init) ?? [])
        guard !named.isEmpty else { return (.default, certificates.isEmpty ? [] : [.certificates(certificates)]) }
        for path in named {
            certificates += try CertificateFiles.certificates(
                from: .file(path: path), for: .trustRootOfEnvironment)
        }
        return (.certificates(certificates), [])
    }

    /// Not in a program that runs with more rights than its user has: whom it trusts is not for the user to say.
    private static func variable(_ name: String) -> String? {
        guard getuid() == geteuid(), getgid() == getegid() else { return nil }
        return ProcessInfo.processInfo.environment[name]
    }

    private func value(of name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
}

extension TLSVersion {
    fileprivate init(_ version: TLSSettings.Version) {
        switch version {
        case .tls10: self = .tlsv1
        case .tls11: self = .tlsv11
        case .tls12: self = .tlsv12
        case .tls13: self = .tlsv13
        }
    }

    /// As IANA and OpenSSL write it.
    var name: String {
        switch self {
        case .tlsv1: "TLSv1"
        case .tlsv11: "TLSv1.1"
        case .tlsv12: "TLSv1.2"
        case .tlsv13: "TLSv1.3"
        }
    }
}
