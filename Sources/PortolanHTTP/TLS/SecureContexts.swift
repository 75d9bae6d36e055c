// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// The TLS contexts of one handler, one for each set of versions of HTTP that is offered. Any thread.
///
/// Making one reads files, and takes longer than a handshake: so it is made once, when the first connection needs it, on a thread that may wait.
final class SecureContexts: Sendable {
    typealias Completion = @Sendable (Result<TLSContext, LoadError>) -> Void

    private enum Entry {
        case making([Completion])
        case made(TLSContext)
    }

    let settings: TLSSettings
    private let allowsHTTP2: Bool
    private let environment: @Sendable (String) -> String?
    private let entries = Mutex<[HTTPVersionChoice?: Entry]>([:])
    /// They read files, and trust stores take their time.
    private static let threads = LoadThreads(limit: 4)

    init(
        _ settings: TLSSettings, allowsHTTP2: Bool, environment: @escaping @Sendable (String) -> String? = { Variables[$0] }
    ) {
        self.settings = settings
        self.allowsHTTP2 = allowsHTTP2
        self.environment = environment
    }

    /// After a failure the next one to ask makes another try.
    ///
    /// - Parameters:
    ///   - version: of HTTP, the only one to offer; `nil`: all that the configuration allows.
    ///   - completion: called once, on any thread, before this returns or later.
    func context(for version: HTTPVersionChoice?, _ completion: @escaping Completion) {
        enum Next { case give(TLSContext), make, wait }
        let next = entries.withLock { entries -> Next in
            switch entries[version] {
            case .made(let context)?: return .give(context)
            case .making(let others)?:
                entries[version] = .making(others + [completion])
                return .wait
            case nil:
                entries[version] = .making([completion])
                return .make
            }
        }
        switch next {
        case .wait: return
        case .give(let context): return completion(.success(context))
        case .make: break
        }
        do throws(LoadError) {
            try Self.threads.run { [self] in
                do throws(LoadError) { finish(version, .success(try make(offering: protocols(for: version)))) } catch {
                    finish(version, .failure(error))
                }
            }
        } catch {
            finish(version, .failure(error))
        }
    }

    private func finish(_ version: HTTPVersionChoice?, _ result: Result<TLSContext, LoadError>) {
        let waiting = entries.withLock { entries -> [Completion] in
            guard case .making(let waiting)? = entries[version] else { return [] }
            if case .success(let context) = result { entries[version] = .made(context) } else { entries[version] = nil }
            return waiting
        }
        for completion in waiting { completion(result) }
    }

    /// What ALPN offers (RFC 7301), the best first.
    private func protocols(for version: HTTPVersionChoice?) -> [String] {
        switch version {
        case .http1: ["http/1.1"]
        case .http2: ["h2"]
        case nil: allowsHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"]
        }
    }

    private func make(offering protocols: [String]) throws(LoadError) -> TLSContext {
        guard settings.minimumVersion <= settings.maximumVersion else {
            throw CertificateFiles.unusable(.secureConnectionFailed, "the minimum version of TLS is above the maximum; swap them")
        }
        let identity = try settings.identity.map { identity throws(LoadError) in try LoadedIdentity(identity) }
        return try TLSContext(settings, roots: try roots(), protocols: protocols, identity: identity)
    }

    private func roots() throws(LoadError) -> TLSContext.Roots {
        var roots = TLSContext.Roots()
        for source in settings.trustRoots.sources {
            roots.certificates += try CertificateFiles.certificates(from: source, for: .trustRoot)
        }
        guard settings.trustRoots.includesSystem else { return roots }
        // As OpenSSL and curl read them.
        let named =
            (value(of: "SSL_CERT_FILE").map { [$0] } ?? []) + (value(of: "SSL_CERT_DIR")?.split(separator: ":").map(String.init) ?? [])
        roots.includesSystem = named.isEmpty
        for path in named {
            roots.certificates += try CertificateFiles.certificates(from: .file(path: path), for: .trustRootOfEnvironment)
        }
        return roots
    }

    private func value(of name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
}
