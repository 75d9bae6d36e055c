// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import PortolanCore

/// An error of OpenSSL: an entry of its error queue (`ERR_get_error(3)`).
package struct TLSError: Error, Hashable {
    private let library: CInt
    private let reason: CInt
    /// OpenSSL's text for the reason.
    private let text: String
    /// Whether the peer has requested a client certificate, and the client has sent none.
    var lacksClientCertificate = false

    /// Empties the error queue of the calling thread, and returns the most useful error.
    ///
    /// - Returns: `nil` if the queue is empty.
    static func takeFromQueue() -> TLSError? {
        var last: UInt = 0
        while true {
            let next = ERR_get_error()
            guard next != 0 else { break }
            // After the reason, a failed handshake adds an entry of another library, which only reports the failure.
            if last == 0 || portolan_ERR_library(next) == ERR_LIB_SSL { last = next }
        }
        return last == 0 ? nil : TLSError(last)
    }

    private init(_ code: UInt) {
        library = portolan_ERR_library(code)
        reason = portolan_ERR_reason(code)
        text = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }

    /// Whether the connection ended without close_notify.
    var isUnexpectedEnd: Bool { library == ERR_LIB_SSL && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING }

    /// The alert with which the peer ended the connection (RFC 8446 §6).
    private var alert: CInt? { library == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : nil }

    var isAlert: Bool { alert != nil }

    /// - Parameters:
    ///   - start: the beginning of the message: the operation that failed.
    ///   - isOfProxy: whether the peer is a proxy. The advice for proxies is different.
    func error(_ start: String, isOfProxy: Bool) -> LoadError {
        let message = "\(start): \(phrase)"
        if isPlaintext {
            guard isOfProxy else { return LoadError(.secureConnectionFailed, message: message, remedy: .usePlainHTTP) }
            return LoadError(.secureConnectionFailed, message: "\(message); if it speaks plain HTTP there, write http:// as its scheme")
        }
        guard let remedy else { return LoadError(.secureConnectionFailed, message: message) }
        if isOfProxy, remedy == .giveClientCertificate {
            let advice = "client certificates are sent only to servers, so use a proxy that needs none"
            return LoadError(.secureConnectionFailed, message: "\(message); \(advice)")
        }
        return LoadError(.secureConnectionFailed, message: message, remedy: remedy)
    }

    /// The error as a part of a message, without a remedy.
    var phrase: String {
        if let alert {
            if let (name, phrase) = certificateAlert { return "\(phrase) (alert \(name))" }
            return Self.phrase(ofAlert: alert) ?? "it sent the TLS alert \(alert) (\(DisplayText.line(text)))"
        }
        guard library == ERR_LIB_SSL else { return libraryPhrase }
        if isPlaintext { return "its response is not TLS" }
        return switch reason {
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_WRONG_SSL_VERSION, SSL_R_NO_PROTOCOLS_AVAILABLE: Self.versionPhrase
        case SSL_R_NO_CIPHERS_AVAILABLE, SSL_R_UNKNOWN_CIPHER_RETURNED, SSL_R_WRONG_CIPHER_RETURNED, SSL_R_DH_KEY_TOO_SMALL,
            SSL_R_WRONG_SIGNATURE_TYPE, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
            "it found no version, cipher and certificate that both sides support (\(DisplayText.line(text)))"
        case SSL_R_CERTIFICATE_VERIFY_FAILED: "its certificate was not accepted"
        case SSL_R_NO_RENEGOTIATION: "it asked for renegotiation, which is disabled"
        default: libraryPhrase
        }
    }

    /// The error of a handshake with a client, as a part of a message.
    var phraseOfServer: String {
        if let alert { return "it sent the TLS alert \(alert) (\(DisplayText.line(text)))" }
        if isPlaintext { return "what it sent is not TLS" }
        return switch (library, reason) {
        case (ERR_LIB_SSL, SSL_R_UNSUPPORTED_PROTOCOL), (ERR_LIB_SSL, SSL_R_WRONG_SSL_VERSION): Self.versionPhrase
        case (ERR_LIB_SSL, SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE): "it sent no certificate"
        case (ERR_LIB_SSL, SSL_R_CERTIFICATE_VERIFY_FAILED): "its certificate is not trusted"
        default: libraryPhrase
        }
    }

    var libraryPhrase: String { "OpenSSL says '\(DisplayText.line(text))'" }

    private var isPlaintext: Bool {
        guard library == ERR_LIB_SSL else { return false }
        return switch reason {
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_UNEXPECTED_MESSAGE, SSL_R_UNEXPECTED_RECORD,
            SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_ENCRYPTED_LENGTH_TOO_LONG, SSL_R_DATA_LENGTH_TOO_LONG, SSL_R_BAD_RECORD_TYPE,
            SSL_R_RECORD_LENGTH_MISMATCH:
            true
        default: false
        }
    }

    private var remedy: LoadError.Remedy? {
        if certificateAlert != nil {
            return lacksClientCertificate || alert == SSL_AD_CERTIFICATE_REQUIRED || alert == SSL_AD_NO_CERTIFICATE
                ? .giveClientCertificate : .changeClientCertificate
        }
        return phrase == Self.versionPhrase ? .allowTLSVersions : nil
    }

    private static let versionPhrase = "it supports none of the allowed TLS versions"

    /// The name and the meaning of an alert about the client's certificate; `nil` for other alerts. If the client has
    /// sent no certificate, servers with TLS 1.2 send handshake_failure (RFC 5246 §7.4.6) or bad_certificate.
    private var certificateAlert: (name: String, phrase: String)? {
        let (name, phrase): (String, String)
        switch alert {
        case SSL_AD_CERTIFICATE_REQUIRED: (name, phrase) = ("certificate_required", Self.missingCertificatePhrase)
        case SSL_AD_NO_CERTIFICATE: (name, phrase) = ("no_certificate", Self.missingCertificatePhrase)
        case SSL_AD_BAD_CERTIFICATE: (name, phrase) = ("bad_certificate", "it refused the client certificate")
        case SSL_AD_UNSUPPORTED_CERTIFICATE: (name, phrase) = ("unsupported_certificate", "it refused the type of the client certificate")
        case SSL_AD_CERTIFICATE_REVOKED: (name, phrase) = ("certificate_revoked", "the client certificate is revoked")
        case SSL_AD_CERTIFICATE_EXPIRED: (name, phrase) = ("certificate_expired", "the client certificate has expired")
        case SSL_AD_CERTIFICATE_UNKNOWN: (name, phrase) = ("certificate_unknown", "it refused the client certificate")
        case SSL_AD_UNKNOWN_CA: (name, phrase) = ("unknown_ca", "it does not know the issuer of the client certificate")
        case SSL_AD_ACCESS_DENIED: (name, phrase) = ("access_denied", "it refused the client certificate")
        case SSL_AD_HANDSHAKE_FAILURE where lacksClientCertificate: (name, phrase) = ("handshake_failure", Self.missingCertificatePhrase)
        default: return nil
        }
        return (name, lacksClientCertificate ? Self.missingCertificatePhrase : phrase)
    }

    private static let missingCertificatePhrase = "it wants a client certificate, and got none"

    /// RFC 8446 §6.2
    private static func phrase(ofAlert alert: CInt) -> String? {
        switch alert {
        case SSL_AD_PROTOCOL_VERSION: versionPhrase
        case SSL_AD_HANDSHAKE_FAILURE: "it found no version, cipher and certificate that both sides support (alert handshake_failure)"
        case SSL_AD_INSUFFICIENT_SECURITY: "it found no cipher that is strong enough for it (alert insufficient_security)"
        case SSL_AD_UNRECOGNIZED_NAME: "it serves no host of that name (alert unrecognized_name); check the address"
        case SSL_AD_NO_APPLICATION_PROTOCOL: "it speaks none of the protocols that were offered (alert no_application_protocol)"
        default: nil
        }
    }
}
