// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import Logging
import PortolanCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The shared state of all TLS sessions with the same settings: OpenSSL's `SSL_CTX`. Can be used on any thread.
///
/// Making a context reads the trusted roots, which takes much longer than a handshake. So the connections of a handler
/// share contexts (``TLSContextCache``).
@safe
final class TLSContext: @unchecked Sendable {  // … because OpenSSL locks the state that sessions share, and nothing changes it after init
    let context: OpaquePointer
    /// The client's certificate, for servers that request one, or the server's certificate.
    let identity: LoadedIdentity?
    /// The protocols that a server can choose.
    fileprivate let chosenProtocols: [[UInt8]]
    let tickets = TLSTicketCache()

    /// The trusted roots.
    struct Roots {
        var certificates: [Certificate] = []
        /// Whether the system's own roots are included.
        var includesSystem = false
    }

    /// - Parameter protocols: the protocols to offer by ALPN (RFC 7301), the preferred one first.
    /// - Throws: ``LoadError/Code/trustRootsUnusable``, ``LoadError/Code/noResources``
    init(_ settings: TLSSettings, roots: Roots, protocols: [String], identity: LoadedIdentity?) throws(LoadError) {
        unsafe context = try Self.make(TLS_client_method(), settings.minimumVersion, settings.maximumVersion)
        (self.identity, chosenProtocols) = (identity, [])
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        unsafe portolan_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL))
        guard protocols.allSatisfy({ 1...255 ~= $0.utf8.count }) else {
            throw LoadError(.secureConnectionFailed, message: "the name of a protocol for ALPN has 1 to 255 bytes; correct the list")
        }
        let offeredProtocols = protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
        unsafe SSL_CTX_set_alpn_protos(context, offeredProtocols, UInt32(offeredProtocols.count))
        try trust(roots)
    }

    /// A server's context.
    ///
    /// - Parameter clientRoots: the roots for the certificates of clients; `nil` to request none.
    /// - Throws: as ``init(_:roots:protocols:identity:)``, and ``LoadError/Code/secureConnectionFailed``
    init(server settings: TLSServerSettings, identity: LoadedIdentity, clientRoots: Roots?) throws(LoadError) {
        guard settings.minimumVersion <= settings.maximumVersion else {
            throw LoadError(.secureConnectionFailed, message: "the minimum version of TLS is above the maximum; swap them")
        }
        unsafe context = try Self.make(TLS_server_method(), settings.minimumVersion, settings.maximumVersion)
        self.identity = identity
        chosenProtocols = settings.applicationProtocols.map { Array($0.utf8) }
        // The sessions use the same objects, but a handshake would not name the reason of a refusal.
        guard let leaf = identity.chain.first, unsafe SSL_CTX_use_certificate(context, leaf.x509) == 1,
            unsafe SSL_CTX_use_PrivateKey(context, identity.key.key) == 1
        else {
            let reason = TLSError.takeFromQueue()?.libraryPhrase ?? "it gives no reason"
            throw LoadError(.secureConnectionFailed, message: "OpenSSL refuses \(settings.identity) for a server: \(reason)")
        }
        // Sessions are resumed by tickets, which need no cache. The ticket of a client with a certificate does not have
        // its chain, so such a client makes a full handshake each time.
        unsafe portolan_SSL_CTX_set_session_cache_mode(context, Int(SSL_SESS_CACHE_OFF))
        if let clientRoots {
            unsafe portolan_SSL_CTX_set_no_tickets(context)
            let required = settings.clientAuthentication.isRequired ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
            unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER | required, nil)
            for root in clientRoots.certificates { unsafe SSL_CTX_add_client_CA(context, root.x509) }
            try trust(clientRoots)
        }
        guard !chosenProtocols.isEmpty else { return }
        // The sessions retain this object, which owns the context.
        unsafe SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, chosenCount, offer, offerCount, owner in
                guard let owner = unsafe owner, let offer = unsafe offer else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                let context = unsafe Unmanaged<TLSContext>.fromOpaque(owner).takeUnretainedValue()
                let bytes = unsafe UnsafeBufferPointer(start: offer, count: Int(offerCount))
                guard let range = unsafe context.choose(from: bytes) else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                // SSL_CTX_set_alpn_select_cb(3): the choice can be a part of the offer.
                unsafe chosen?.pointee = offer + range.lowerBound
                unsafe chosenCount?.pointee = UInt8(range.count)
                return SSL_TLSEXT_ERR_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { unsafe SSL_CTX_free(context) }

    /// Makes a context with the settings that clients and servers share.
    private static func make(
        _ method: OpaquePointer?, _ minimum: TLSSettings.Version, _ maximum: TLSSettings.Version
    ) throws(LoadError) -> OpaquePointer {
        OpenSSL.start()
        guard let context = unsafe SSL_CTX_new(method) else {
            throw LoadError(.noResources, message: "OpenSSL can't make a context: \(TLSError.takeFromQueue()?.phrase ?? "no reason given")")
        }
        // Level 2 requires 112 bits of security, for example RSA with 2048 bits. TLS 1.0 and 1.1 (deprecated by RFC
        // 8996) need level 0, because of their hash functions.
        unsafe SSL_CTX_set_security_level(context, minimum < .tls12 ? 0 : 2)
        unsafe portolan_SSL_CTX_set_min_proto_version(context, minimum.number)
        unsafe portolan_SSL_CTX_set_max_proto_version(context, maximum.number)
        if minimum < .tls12 { unsafe SSL_CTX_set_cipher_list(context, "DEFAULT:@SECLEVEL=0") }
        unsafe portolan_SSL_CTX_set_options(context)
        unsafe portolan_SSL_CTX_set_mode(
            context, Int(SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS))
        unsafe portolan_SSL_CTX_set_read_ahead(context, 1)
        unsafe SSL_CTX_set_default_read_buffer_len(context, 64 << 10)
        // The maximum size of a peer's certificate chain.
        unsafe portolan_SSL_CTX_set_max_cert_list(context, 256 << 10)
        unsafe TLSSession.setCallbacks(of: context)
        if KeyLog.shared != nil { unsafe SSL_CTX_set_keylog_callback(context) { _, line in unsafe KeyLog.shared?.append(line) } }
        return unsafe context
    }

    /// Chooses the first of the server's protocols that the client offers (RFC 7301 §3.2).
    ///
    /// - Parameter offer: names, each after a byte with its length (§3.1).
    /// - Returns: the place of the name in the offer.
    private func choose(from offer: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        var names: [Range<Int>] = []
        var position = 0
        while position < offer.count {
            let end = unsafe position + 1 + Int(offer[position])
            guard end <= offer.count else { break }
            names.append(position + 1..<end)
            position = end
        }
        for name in chosenProtocols {
            if let range = names.first(where: { unsafe offer[$0].elementsEqual(name) }) { return range }
        }
        return nil
    }

    private func trust(_ roots: Roots) throws(LoadError) {
        guard let store = unsafe SSL_CTX_get_cert_store(context) else {
            throw LoadError(.noResources, message: "OpenSSL has no store for certificates")
        }
        for certificate in roots.certificates { unsafe X509_STORE_add_cert(store, certificate.x509) }
        // A listed root is trusted even if it is not self-signed.
        if !roots.certificates.isEmpty { unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN)) }
        defer { ERR_clear_error() }
        guard roots.includesSystem, !trustSystem() else { return }
        guard roots.certificates.isEmpty else { return }
        throw LoadError(.trustRootsUnusable, message: "no trust roots can be read", remedy: .nameTrustRoots)
    }

    /// Trusts the system's roots.
    ///
    /// - Returns: whether the system has roots.
    private func trustSystem() -> Bool {
        // From a folder with hashes, OpenSSL reads a certificate only when it is needed. Reading a file with all roots
        // takes tens of milliseconds.
        let folders = [unsafe String(cString: X509_get_default_cert_dir()), "/etc/ssl/certs"]
        for folder in folders where Self.hasHashes(folder) && (unsafe SSL_CTX_load_verify_dir(context, folder)) == 1 { return true }
        let files = [
            unsafe String(cString: X509_get_default_cert_file()), "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
            "/etc/ssl/cert.pem",
        ]
        return files.contains { unsafe SSL_CTX_load_verify_file(context, $0) == 1 }
    }

    /// Whether c_rehash(1) or `openssl rehash` has made links in the folder. Their names have eight hexadecimal digits,
    /// `.` and a number.
    private static func hasHashes(_ folder: String) -> Bool {
        guard let stream = unsafe opendir(folder) else { return false }
        defer { unsafe closedir(stream) }
        while let entry = unsafe readdir(stream) {
            // An entry ends after its name. The memory after it must not be read.
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { start in
                unsafe start.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name.utf8.dropFirst(8).first == UInt8(ascii: "."), name.prefix(8).allSatisfy(\.isHexDigit) { return true }
        }
        return false
    }
}

extension TLSSettings.Version {
    /// OpenSSL's number for the version.
    fileprivate var number: CInt {
        switch self {
        case .tls10: TLS1_VERSION
        case .tls11: TLS1_1_VERSION
        case .tls12: TLS1_2_VERSION
        case .tls13: TLS1_3_VERSION
        }
    }
}

/// Writes the secrets of sessions to the file that `SSLKEYLOGFILE` names (RFC 9850), for programs that decrypt recorded
/// traffic. Can be used on any thread.
///
/// Disabled in a set-uid program.
private final class KeyLog: Sendable {
    static let shared = KeyLog()

    private let path: String
    private let descriptor: CInt
    private let hasFailed = Mutex(false)

    private init?() {
        guard let path = EnvironmentVariables["SSLKEYLOGFILE"] else { return nil }
        self.path = path
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            warn(errno)
            return nil
        }
    }

    /// Logs a failure. Called at most once, because only the first failure is reported.
    private func warn(_ number: CInt) {
        Logger(label: "org.portolan.http").warning(
            "SSLKEYLOGFILE: '\(DisplayText.line(path))' can't be written: \(LoadError.text(of: number))")
    }

    func append(_ line: UnsafePointer<CChar>?) {
        guard let line = unsafe line else { return }
        var bytes = unsafe Array(UnsafeRawBufferPointer(start: line, count: strlen(line)))
        bytes.append(UInt8(ascii: "\n"))
        let failure = hasFailed.withLock { hasFailed -> CInt? in
            let number = withWriteSignalsBlocked { append(bytes[...]) }
            guard number != 0, !hasFailed else { return nil }
            hasFailed = true
            return number
        }
        if let failure { warn(failure) }
    }

    /// - Returns: 0, or the errno if some bytes could not be written.
    private func append(_ bytes: ArraySlice<UInt8>) -> CInt {
        var rest = bytes
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return errno }
            rest = rest.dropFirst(count)
        }
        return 0
    }
}
