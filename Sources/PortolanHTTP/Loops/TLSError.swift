// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import PortolanCore

/// What OpenSSL says went wrong: an entry of its error queue (`ERR_get_error(3)`).
struct TLSError: Error, Hashable {
    private let library: CInt
    private let reason: CInt
    /// As OpenSSL words it.
    private let text: String

    /// Takes the calling thread's errors; the last one says most.
    ///
    /// - Returns: `nil` where there are none.
    static func take() -> TLSError? {
        var last: UInt = 0
        while true {
            let next = ERR_get_error()
            guard next != 0 else { break }
            // A failed handshake adds that it failed, behind the reason.
            if last == 0 || portolan_ERR_library(next) == ERR_LIB_SSL { last = next }
        }
        return last == 0 ? nil : TLSError(last)
    }

    private init(_ code: UInt) {
        library = portolan_ERR_library(code)
        reason = portolan_ERR_reason(code)
        text = unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "error \(code)"
    }

    /// The connection ended within TLS.
    var isUnexpectedEnd: Bool { library == ERR_LIB_SSL && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING }

    /// What the peer said as it ended the connection (RFC 8446 §6).
    private var alert: CInt? { library == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET ? reason - SSL_AD_REASON_OFFSET : nil }

    var isAlert: Bool { alert != nil }

    /// - Parameter start: what failed.
    func error(_ start: String) -> LoadError {
        let words = words
        var error = LoadError(.secureConnectionFailed, message: "\(start): \(words)")
        error.remedy = [.giveClientCertificate, .changeClientCertificate, .allowTLSVersions].first { words.hasSuffix($0.words) }
        return error
    }

    var words: String {
        if let alert { return Self.words(ofAlert: alert) ?? "it sent the TLS alert \(alert) (\(DisplayText.line(text)))" }
        guard library == ERR_LIB_SSL else { return "OpenSSL says '\(DisplayText.line(text))'" }
        return switch reason {
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTP_REQUEST, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_UNEXPECTED_MESSAGE, SSL_R_UNEXPECTED_RECORD,
            SSL_R_PACKET_LENGTH_TOO_LONG, SSL_R_ENCRYPTED_LENGTH_TOO_LONG, SSL_R_DATA_LENGTH_TOO_LONG, SSL_R_BAD_RECORD_TYPE,
            SSL_R_RECORD_LENGTH_MISMATCH:
            "what it answers is not TLS; if it speaks plain HTTP there, try http:"
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_WRONG_SSL_VERSION, SSL_R_NO_PROTOCOLS_AVAILABLE:
            "it speaks none of the versions of TLS that are allowed here; widen them if it must be"
        case SSL_R_NO_CIPHERS_AVAILABLE, SSL_R_UNKNOWN_CIPHER_RETURNED, SSL_R_WRONG_CIPHER_RETURNED, SSL_R_DH_KEY_TOO_SMALL,
            SSL_R_WRONG_SIGNATURE_TYPE, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
            "it found no version, cipher and certificate that both sides take (\(DisplayText.line(text))); it may want a client certificate"
        case SSL_R_CERTIFICATE_VERIFY_FAILED: "its certificate was not accepted"
        case SSL_R_NO_RENEGOTIATION: "it asked to negotiate again, which is off"
        default: "OpenSSL says '\(DisplayText.line(text))'"
        }
    }

    /// RFC 8446 §6.2
    private static func words(ofAlert alert: CInt) -> String? {
        switch alert {
        case SSL_AD_PROTOCOL_VERSION: "it speaks none of the versions of TLS that are allowed here; widen them if it must be"
        case SSL_AD_HANDSHAKE_FAILURE, SSL_AD_INSUFFICIENT_SECURITY:
            "it found no version, cipher and certificate that both sides take (alert handshake_failure); it may want a client certificate"
        case SSL_AD_CERTIFICATE_REQUIRED, SSL_AD_NO_CERTIFICATE:
            "it wants a client certificate, and got none (alert certificate_required); give one"
        case SSL_AD_BAD_CERTIFICATE: "it refused the client certificate (alert bad_certificate); give another one"
        case SSL_AD_UNSUPPORTED_CERTIFICATE:
            "it refused the client certificate's kind (alert unsupported_certificate); give another one"
        case SSL_AD_CERTIFICATE_REVOKED: "the client certificate is revoked (alert certificate_revoked); give another one"
        case SSL_AD_CERTIFICATE_EXPIRED: "the client certificate has expired (alert certificate_expired); give another one"
        case SSL_AD_CERTIFICATE_UNKNOWN: "it refused the client certificate (alert certificate_unknown); give another one"
        case SSL_AD_UNKNOWN_CA: "it does not know who issued the client certificate (alert unknown_ca); give another one"
        case SSL_AD_ACCESS_DENIED: "it refused the client certificate (alert access_denied); give another one"
        case SSL_AD_UNRECOGNIZED_NAME: "it serves no host of that name (alert unrecognized_name); check the address"
        case SSL_AD_NO_APPLICATION_PROTOCOL: "it speaks neither HTTP/1.1 nor HTTP/2 there (alert no_application_protocol)"
        default: nil
        }
    }
}
