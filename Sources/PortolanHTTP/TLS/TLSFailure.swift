// SPDX-License-Identifier: Apache-2.0

import NIOCore
import NIOSSL
import PortolanCore

extension LoadError {
    /// Why the connection could not be made secure: what BoringSSL, the server or the system says.
    static func securing(_ peer: TLSPeer, _ error: any Error) -> LoadError {
        switch error {
        case let error as LoadError: return error
        case let error as IOError:
            return LoadError(
                .secureConnectionFailed,
                message: "the connection to \(peer) broke in the TLS handshake: \(LoadError.text(of: error.errnoCode)); try again")
        case NIOSSLError.uncleanShutdown, NIOSSLError.handshakeFailed(.sslError([.eofDuringHandshake])):
            return LoadError(
                .secureConnectionFailed,
                message: "\(peer) closed the connection in the TLS handshake; check that it speaks TLS on that port")
        default:
            guard let reason = TLSReason(error) else {
                return LoadError(.secureConnectionFailed, message: "no secure connection to \(peer)", cause: error)
            }
            return reason.error("no secure connection to \(peer)")
        }
    }

    /// What the other side said as it ended a connection that was secure; `nil` where it said nothing.
    ///
    /// In TLS 1.3 a server looks at the client's certificate only when the client takes the handshake for done (RFC 8446 §4.4.2.4).
    static func alert(from peer: TLSPeer, _ error: (any Error)?) -> LoadError? {
        guard let reason = error.flatMap(TLSReason.init) else { return nil }
        return reason.error("\(peer) ended the secure connection")
    }
}

/// What BoringSSL calls an error, and what that means.
struct TLSReason {
    private let name: Substring

    init?(_ error: any Error) {
        let underlying: (any Error)? =
            switch error {
            case NIOSSLError.handshakeFailed(let error), NIOSSLError.shutdownFailed(let error): error
            default: error
            }
        guard case BoringSSLError.sslError(let stack)? = underlying, let last = stack.last else { return nil }
        // `Error: 268436496 error:10000410:SSL routines:OPENSSL_internal:SSLV3_ALERT_HANDSHAKE_FAILURE at file:line`
        let parts = last.description.split(separator: ":")
        guard parts.count > 5, let name = parts[5].split(separator: " ").first else { return nil }
        self.name = name
    }

    /// The chain was not verified.
    var isDistrust: Bool { name == "CERTIFICATE_VERIFY_FAILED" }

    /// - Parameter start: what failed.
    func error(_ start: String) -> LoadError {
        var error = LoadError(.secureConnectionFailed, message: "\(start): \(text)")
        error.remedy = [.giveClientCertificate, .changeClientCertificate, .allowTLSVersions].first { text.hasSuffix($0.words) }
        return error
    }

    var text: String {
        switch name {
        case "WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "UNEXPECTED_MESSAGE", "UNEXPECTED_RECORD", "RECORD_TOO_LARGE",
            "ENCRYPTED_LENGTH_TOO_LONG", "INVALID_OUTER_RECORD_TYPE":
            "what it answers is not TLS; if it speaks plain HTTP there, try http:"
        case "UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION":
            "it speaks none of the versions of TLS that are allowed here; widen them if it must be"
        case "SSLV3_ALERT_HANDSHAKE_FAILURE", "TLSV1_ALERT_INSUFFICIENT_SECURITY", "NO_CIPHERS_AVAILABLE", "UNKNOWN_CIPHER_RETURNED":
            "it found no version, cipher and certificate that both sides take (alert handshake_failure); it may want a client certificate"
        case "TLSV1_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_NO_CERTIFICATE":
            "it wants a client certificate, and got none (alert certificate_required); give one"
        case "SSLV3_ALERT_BAD_CERTIFICATE": "it refused the client certificate (alert bad_certificate); give another one"
        case "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE":
            "it refused the client certificate's kind (alert unsupported_certificate); give another one"
        case "SSLV3_ALERT_CERTIFICATE_REVOKED": "the client certificate is revoked (alert certificate_revoked); give another one"
        case "SSLV3_ALERT_CERTIFICATE_EXPIRED": "the client certificate has expired (alert certificate_expired); give another one"
        case "SSLV3_ALERT_CERTIFICATE_UNKNOWN": "it refused the client certificate (alert certificate_unknown); give another one"
        case "TLSV1_ALERT_UNKNOWN_CA": "it does not know who issued the client certificate (alert unknown_ca); give another one"
        case "TLSV1_ALERT_ACCESS_DENIED": "it refused the client certificate (alert access_denied); give another one"
        case "TLSV1_ALERT_UNRECOGNIZED_NAME": "it serves no host of that name (alert unrecognized_name); check the address"
        case "TLSV1_ALERT_NO_APPLICATION_PROTOCOL": "it speaks neither HTTP/1.1 nor HTTP/2 there (alert no_application_protocol)"
        case "CERTIFICATE_VERIFY_FAILED": "its certificate was not accepted"
        default: "BoringSSL says '\(DisplayText.line(String(name)))'"
        }
    }
}
