// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL

/// State that the connections of a ``SecureServer`` share (SSL_CTX_new(3)).
// @unchecked Sendable … because the class is immutable and OpenSSL counts the references to the context; @safe because
// the class is not visible outside of this folder.
@safe
final class SecureContext: @unchecked Sendable {
    let settings: SecureServer.Settings
    let context: OpaquePointer
    /// The application protocols in the format of ALPN: each name follows its length.
    private let protocolNames: UnsafeMutableBufferPointer<UInt8>

    init(_ settings: SecureServer.Settings) throws {
        self.settings = settings
        let names = settings.applicationProtocols.flatMap { [UInt8(truncatingIfNeeded: $0.utf8.count)] + Array($0.utf8) }
        unsafe protocolNames = .allocate(capacity: names.count)
        _ = unsafe protocolNames.initialize(from: names)
        guard let context = unsafe SSL_CTX_new(TLS_server_method()) else {
            unsafe protocolNames.deallocate()
            throw ServerError(openSSL: "SSL_CTX_new")
        }
        unsafe self.context = context
        try setVersions()
        try setCertificate()
        try setClientCertificates()
        try setSessions()
        setCallbacks()
    }

    deinit {
        unsafe SSL_CTX_free(context)
        unsafe protocolNames.deallocate()
    }

    private func setVersions() throws {
        unsafe SSL_CTX_set_security_level(context, 0)
        try check("the minimum version", unsafe portolan_SSL_CTX_set_min_proto_version(context, settings.minimumVersion.rawValue))
        try check("the maximum version", unsafe portolan_SSL_CTX_set_max_proto_version(context, settings.maximumVersion.rawValue))
        try check("the ciphers", unsafe SSL_CTX_set_cipher_list(context, settings.ciphers))
        if let suites = settings.cipherSuites { try check("the cipher suites", unsafe SSL_CTX_set_ciphersuites(context, suites)) }
    }

    private func setCertificate() throws {
        switch settings.certificate {
        case .files(let chain, let key):
            try check("the chain '\(chain)'", unsafe SSL_CTX_use_certificate_chain_file(context, chain))
            try check("the key '\(key)'", unsafe SSL_CTX_use_PrivateKey_file(context, key, X509_FILETYPE_PEM))
        case .der(let chain, let key):
            for (index, bytes) in chain.enumerated() {
                let certificate = unsafe bytes.withUnsafeBufferPointer { buffer in
                    var start = buffer.baseAddress
                    return unsafe d2i_X509(nil, &start, buffer.count)
                }
                guard let certificate = unsafe certificate else { throw ServerError(openSSL: "certificate \(index) of the chain") }
                defer { unsafe X509_free(certificate) }
                let result =
                    unsafe index == 0
                    ? SSL_CTX_use_certificate(context, certificate) : portolan_SSL_CTX_add_extra_chain_cert(context, certificate)
                try check("certificate \(index) of the chain", result)
            }
            let parsed = unsafe key.withUnsafeBufferPointer { buffer in
                var start = buffer.baseAddress
                return unsafe d2i_AutoPrivateKey(nil, &start, buffer.count)
            }
            guard let parsed = unsafe parsed else { throw ServerError(openSSL: "the key") }
            defer { unsafe EVP_PKEY_free(parsed) }
            try check("the key", unsafe SSL_CTX_use_PrivateKey(context, parsed))
        }
    }

    private func setClientCertificates() throws {
        let roots: String
        switch settings.clientCertificates {
        case .none: return
        case .optional(let file):
            roots = file
            unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        case .required(let file):
            roots = file
            unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        }
        try check("the roots '\(roots)'", unsafe SSL_CTX_load_verify_file(context, roots))
        // The context takes ownership of the list.
        unsafe SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(roots))
    }

    private func setSessions() throws {
        // Disables the server's session cache, which serves clients without ticket support.
        unsafe portolan_SSL_CTX_set_session_cache_mode(context, 0)
        try check("the session ID context", unsafe SSL_CTX_set_session_id_context(context, "tests", 5))
        if !settings.sendsTickets { _ = unsafe SSL_CTX_set_options(context, portolan_SSL_OP_NO_TICKET()) }
        try check("the number of tickets", unsafe SSL_CTX_set_num_tickets(context, settings.sendsTickets ? settings.ticketCount : 0))
    }

    private func setCallbacks() {
        let pointer = unsafe Unmanaged.passUnretained(self).toOpaque()
        if !settings.applicationProtocols.isEmpty {
            unsafe SSL_CTX_set_alpn_select_cb(
                context,
                { _, chosen, length, offered, offeredLength, pointer in
                    guard let pointer = unsafe pointer else { return SSL_TLSEXT_ERR_ALERT_FATAL }
                    let context = unsafe Unmanaged<SecureContext>.fromOpaque(pointer).takeUnretainedValue()
                    return unsafe context.chooseApplicationProtocol(chosen, length, offered, offeredLength)
                }, pointer)
        }
        if settings.refusesName {
            _ = unsafe portolan_SSL_CTX_set_servername_callback(context) { _, alert, _ in
                unsafe alert?.pointee = SSL_AD_UNRECOGNIZED_NAME
                return SSL_TLSEXT_ERR_ALERT_FATAL
            }
        }
        unsafe SSL_CTX_set_keylog_callback(context) { ssl, line in
            guard let ssl = unsafe ssl, let line = unsafe line else { return }
            unsafe SecureWire.wire(of: ssl)?.readKeyLogLine(String(cString: line))
        }
    }

    /// SSL_CTX_set_alpn_select_cb(3)
    private func chooseApplicationProtocol(
        _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?, _ length: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?,
        _ offeredLength: UInt32
    ) -> Int32 {
        var chosenName: UnsafeMutablePointer<UInt8>? = nil
        let result = unsafe SSL_select_next_proto(
            &chosenName, length, protocolNames.baseAddress, UInt32(protocolNames.count), offered, offeredLength)
        guard result == OPENSSL_NPN_NEGOTIATED else {
            return settings.requiresApplicationProtocol ? SSL_TLSEXT_ERR_ALERT_FATAL : SSL_TLSEXT_ERR_NOACK
        }
        unsafe chosen?.pointee = unsafe UnsafePointer(chosenName)
        return SSL_TLSEXT_ERR_OK
    }

    private func check(_ setting: String, _ result: Int32) throws {
        guard result > 0 else { throw ServerError(openSSL: setting) }
    }
}

/// ERR_get_error(3)
enum OpenSSLErrors {
    /// Returns the reason of this thread's last error, and clears the thread's error queue.
    static func takeReason() -> String? {
        let error = ERR_peek_last_error()
        ERR_clear_error()
        guard error != 0, let text = unsafe ERR_reason_error_string(error) else { return nil }
        return unsafe String(cString: text)
    }
}

extension ServerError {
    /// An error of OpenSSL.
    ///
    /// - Parameter subject: the argument that OpenSSL rejected, or the function that failed.
    init(openSSL subject: String) {
        self.init("OpenSSL rejects \(subject): \(OpenSSLErrors.takeReason() ?? "no reason given")")
    }
}
