// SPDX-License-Identifier: Apache-2.0

import PortolanCore
import Synchronization

/// The TLS contexts of one handler, one for each list of protocols to offer (ALPN). Can be used on any thread.
///
/// Making a context reads files, and takes longer than a handshake. So each context is made once, when the first
/// connection needs it, on a thread that is allowed to block.
package final class TLSContextCache: Sendable {
    typealias Completion = @Sendable (Result<TLSContext, LoadError>) -> Void

    private enum Entry {
        /// The completions of the calls that wait for the context.
        case making([Completion])
        case ready(TLSContext)
    }

    let settings: TLSSettings
    private let make: @Sendable (TLSContextCache, _ protocols: [String]) throws(LoadError) -> TLSContext
    private let environment: @Sendable (String) -> String?
    private let entries = Mutex<[[String]: Entry]>([:])
    /// Threads for making contexts, because reading the files blocks.
    private static let threads = LoadThreadPool(limit: 4)

    package convenience init(
        _ settings: TLSSettings, environment: @escaping @Sendable (String) -> String? = { EnvironmentVariables[$0] }
    ) {
        self.init(settings, environment: environment) { contexts, protocols throws(LoadError) in
            try contexts.makeContext(offering: protocols)
        }
    }

    /// - Parameter make: makes a context, on a thread that may block.
    init(
        _ settings: TLSSettings, environment: @escaping @Sendable (String) -> String? = { EnvironmentVariables[$0] },
        making make: @escaping @Sendable (TLSContextCache, _ protocols: [String]) throws(LoadError) -> TLSContext
    ) {
        (self.settings, self.environment, self.make) = (settings, environment, make)
    }

    /// Calls `completion` with the context for the protocols. Makes the context if it does not exist yet, or if an
    /// earlier call could not make it.
    ///
    /// - Parameters:
    ///   - protocols: the protocols to offer by ALPN (RFC 7301), the preferred one first; empty for no offer.
    ///   - completion: called once, on any thread, inside this call or later.
    func context(offering protocols: [String], _ completion: @escaping Completion) {
        enum Next { case complete(TLSContext), make, wait }
        let next = entries.withLock { entries -> Next in
            switch entries[protocols] {
            case .ready(let context)?: return .complete(context)
            case .making(let completions)?:
                entries[protocols] = .making(completions + [completion])
                return .wait
            case nil:
                entries[protocols] = .making([completion])
                return .make
            }
        }
        switch next {
        case .wait: return
        case .complete(let context): return completion(.success(context))
        case .make: break
        }
        do throws(LoadError) {
            try Self.threads.run { [self] in
                do throws(LoadError) { finish(protocols, .success(try make(self, protocols))) } catch {
                    finish(protocols, .failure(error))
                }
            }
        } catch {
            finish(protocols, .failure(error))
        }
    }

    /// As ``context(offering:_:)``, but calls `completion` on the event loop. Call it there.
    func context(
        offering protocols: [String], on loop: any EventLoop, _ completion: @escaping (Result<TLSContext, LoadError>) -> Void
    ) {
        let bound = LoopBound(completion)
        context(offering: protocols) { result in
            if loop.isOnLoop { bound.value(result) } else { loop.execute { bound.value(result) } }
        }
    }

    private func finish(_ protocols: [String], _ result: Result<TLSContext, LoadError>) {
        let completions = entries.withLock { entries -> [Completion] in
            guard case .making(let completions)? = entries[protocols] else { return [] }
            if case .success(let context) = result { entries[protocols] = .ready(context) } else { entries[protocols] = nil }
            return completions
        }
        for completion in completions { completion(result) }
    }

    private func makeContext(offering protocols: [String]) throws(LoadError) -> TLSContext {
        guard settings.minimumVersion <= settings.maximumVersion else {
            throw CertificateFiles.unusable(.secureConnectionFailed, "the minimum version of TLS is above the maximum; swap them")
        }
        let identity = try settings.identity.map { identity throws(LoadError) in try LoadedIdentity(identity) }
        return try TLSContext(settings, roots: try load(settings.trustRoots), protocols: protocols, identity: identity)
    }

    /// Reads the files of trust roots. Blocks.
    func load(_ trustRoots: TrustRoots) throws(LoadError) -> TLSContext.Roots {
        var roots = TLSContext.Roots()
        for source in trustRoots.sources {
            roots.certificates += try CertificateFiles.certificates(from: source, for: .trustRoot)
        }
        guard trustRoots.includesSystem else { return roots }
        // OpenSSL and curl read the same variables.
        let namedPaths =
            (value(of: "SSL_CERT_FILE").map { [$0] } ?? []) + (value(of: "SSL_CERT_DIR")?.split(separator: ":").map(String.init) ?? [])
        roots.includesSystem = namedPaths.isEmpty
        for path in namedPaths {
            roots.certificates += try CertificateFiles.certificates(from: .file(path: path), for: .trustRootOfEnvironment)
        }
        return roots
    }

    private func value(of name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
}
