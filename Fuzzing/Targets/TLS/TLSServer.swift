// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import Synchronization

/// The configuration of a case's server.
struct TLSServerSettings: Hashable {
    var kind = TLSCertificates.Kind.good
    /// `false` means TLS 1.3.
    var isTLS12 = false
    var requestsCertificate = false
    var sendsTickets = false
}

/// The context of connections with the same settings, made once per process: SSL_CTX_new(3).
@safe
final class TLSServerContext: @unchecked Sendable {  // … because it is not changed after init, and OpenSSL counts its references
    let context: OpaquePointer

    private static let sharedContexts = Mutex<[TLSServerSettings: TLSServerContext]>([:])

    static func with(_ settings: TLSServerSettings) throws(FuzzFinding) -> TLSServerContext {
        if let context = sharedContexts.withLock({ $0[settings] }) { return context }
        let context = try TLSServerContext(settings)
        sharedContexts.withLock { $0[settings] = context }
        return context
    }

    private init(_ settings: TLSServerSettings) throws(FuzzFinding) {
        guard let context = unsafe SSL_CTX_new(TLS_server_method()) else { throw FuzzFinding("OpenSSL can't create the server's context") }
        unsafe self.context = context
        let version = settings.isTLS12 ? TLS1_2_VERSION : TLS1_3_VERSION
        unsafe portolan_SSL_CTX_set_min_proto_version(context, version)
        unsafe portolan_SSL_CTX_set_max_proto_version(context, version)
        for (index, der) in settings.kind.chain.enumerated() {
            guard let certificate = unsafe Self.certificate(der) else {
                throw FuzzFinding("OpenSSL rejects the certificate \(index)")
            }
            defer { unsafe X509_free(certificate) }
            if index == 0 {
                unsafe SSL_CTX_use_certificate(context, certificate)
            } else {
                _ = unsafe portolan_SSL_CTX_add_extra_chain_cert(context, certificate)
            }
        }
        let key = unsafe TLSCertificates.leafKey.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &start, bytes.count)
        }
        defer { unsafe EVP_PKEY_free(key) }
        let isKeyAccepted = unsafe SSL_CTX_use_PrivateKey(context, key) == 1
        try require(isKeyAccepted, "OpenSSL rejects the server's key")
        if settings.requestsCertificate {
            unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
            unsafe SSL_CTX_set_cert_verify_callback(context, { _, _ in 1 }, nil)
        }
        unsafe portolan_SSL_CTX_set_session_cache_mode(context, 0)
        unsafe SSL_CTX_set_session_id_context(context, "fuzz", 4)
        if !settings.sendsTickets {
            _ = unsafe SSL_CTX_set_options(context, portolan_SSL_OP_NO_TICKET())
            unsafe SSL_CTX_set_num_tickets(context, 0)
        }
        // Selects the first protocol that the client offers.
        unsafe SSL_CTX_set_alpn_select_cb(
            context,
            { _, chosen, length, offered, offeredLength, _ in
                guard let offered = unsafe offered, offeredLength > 1 else { return SSL_TLSEXT_ERR_NOACK }
                unsafe chosen?.pointee = unsafe offered + 1
                unsafe length?.pointee = unsafe offered[0]
                return SSL_TLSEXT_ERR_OK
            }, nil)
        ERR_clear_error()
    }

    deinit { unsafe SSL_CTX_free(context) }

    /// Parses a certificate, which the caller must free.
    static func certificate(_ der: [UInt8]) -> OpaquePointer? {
        unsafe der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return unsafe d2i_X509(nil, &start, bytes.count)
        }
    }
}

/// An action of the server after the handshake; the server does one per call of `proceed()`.
enum TLSServerStep {
    case write([UInt8])
    case updateKeys(isRequested: Bool)
    /// A HelloRequest, up to TLS 1.2.
    case renegotiate
    case sendTicket
    case closeNotify
}

/// The server side of a connection, which reads and writes memory.
@safe
final class TLSServer {
    private let context: TLSServerContext
    private let ssl: OpaquePointer
    /// The buffers of bytes from and to the client, which `ssl` owns.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private var steps: ArraySlice<TLSServerStep>
    private var hasFailed = false
    /// The plaintext that was encrypted for the client.
    private(set) var sent: [UInt8] = []
    private(set) var received: [UInt8] = []
    private(set) var hasSentCloseNotify = false
    /// Whether the server requested a new handshake. The client rejects it, which OpenSSL's servers treat as a failure.
    private(set) var hasRenegotiated = false

    /// - Parameter leaf: a certificate in DER that replaces the context's leaf.
    init(_ context: TLSServerContext, leaf: [UInt8]? = nil, steps: [TLSServerStep]) throws(FuzzFinding) {
        guard let ssl = unsafe SSL_new(context.context), let incoming = unsafe BIO_new(BIO_s_mem()),
            let outgoing = unsafe BIO_new(BIO_s_mem())
        else { throw FuzzFinding("OpenSSL can't create the server") }
        unsafe SSL_set_bio(ssl, incoming, outgoing)
        unsafe SSL_set_accept_state(ssl)
        self.context = context
        self.steps = steps[...]
        unsafe (self.ssl, self.incoming, self.outgoing) = (ssl, incoming, outgoing)
        if let leaf, let certificate = unsafe TLSServerContext.certificate(leaf) {
            unsafe SSL_use_certificate(ssl, certificate)
            unsafe X509_free(certificate)
        }
        ERR_clear_error()
    }

    deinit { unsafe SSL_free(ssl) }

    func receive(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        _ = unsafe bytes.withUnsafeBytes { unsafe BIO_write(incoming, $0.baseAddress, Int32($0.count)) }
    }

    /// Continues the handshake. After the handshake, plays the next step.
    ///
    /// - Returns: Whether a step was played.
    func proceed() -> Bool {
        defer { ERR_clear_error() }
        guard !hasFailed, hasSucceeded(unsafe SSL_do_handshake(ssl)) else { return false }
        readAll()
        guard !hasFailed, let step = steps.popFirst() else { return false }
        switch step {
        case .write(let bytes):
            let count = unsafe bytes.withUnsafeBytes { unsafe SSL_write(ssl, $0.baseAddress, Int32($0.count)) }
            if hasSucceeded(count) { sent += bytes.prefix(Int(count)) }
        case .updateKeys(let isRequested):
            unsafe SSL_key_update(ssl, isRequested ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED)
            _ = hasSucceeded(unsafe SSL_do_handshake(ssl))
        case .renegotiate:
            hasRenegotiated = true
            unsafe SSL_renegotiate(ssl)
            _ = hasSucceeded(unsafe SSL_do_handshake(ssl))
        case .sendTicket:
            unsafe SSL_new_session_ticket(ssl)
            _ = hasSucceeded(unsafe SSL_do_handshake(ssl))
        case .closeNotify:
            unsafe SSL_shutdown(ssl)
            hasSentCloseNotify = true
        }
        return true
    }

    private func readAll() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            ERR_clear_error()
            let count = unsafe SSL_read(ssl, &buffer, Int32(buffer.count))
            guard count > 0 else {
                _ = hasSucceeded(count)
                return
            }
            received += buffer.prefix(Int(count))
        }
    }

    /// Whether an OpenSSL function has succeeded. Records its failure, unless the function only waits for input.
    ///
    /// - Parameter result: the return value of the function.
    private func hasSucceeded(_ result: Int32) -> Bool {
        if result > 0 { return true }
        let error = unsafe SSL_get_error(ssl, result)
        if error == SSL_ERROR_SSL || error == SSL_ERROR_SYSCALL { hasFailed = true }
        return false
    }

    func takeOutput() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Int(unsafe BIO_ctrl_pending(outgoing)))
        guard !bytes.isEmpty else { return [] }
        let count = unsafe BIO_read(outgoing, &bytes, Int32(bytes.count))
        return Array(bytes.prefix(Int(max(count, 0))))
    }
}
