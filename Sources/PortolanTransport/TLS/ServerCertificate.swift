// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL

/// The contents of an X.509 certificate. Do not trust them before the certificate is verified.
///
/// RFC 5280 §4.1
public struct ServerCertificate: Hashable, Sendable {
    /// The whole certificate.
    public let der: [UInt8]
    /// The subject's public key (`SubjectPublicKeyInfo`, DER). It stays the same if a certificate is renewed for the
    /// same key.
    public let publicKey: [UInt8]
    /// The subject, as one short line: the common name, or another part if it has no common name.
    public let subject: String
    /// The issuer, as one short line.
    public let issuer: String
    /// The hosts that the certificate is valid for: DNS names, also with a wildcard (`*.example.com`), and IP
    /// addresses.
    public let names: [String]

    let notBefore: CertificateTime
    let notAfter: CertificateTime
    /// Whether subject and issuer are the same name.
    let isSelfIssued: Bool
    /// DNS names, without the addresses.
    let dnsNames: [String]
    /// IP addresses, each with 4 or 16 bytes.
    let addresses: [[UInt8]]
    /// Whether the certificate is valid for a server (RFC 5280 §4.2.1.12).
    let isForServers: Bool
    let rawSubject: [UInt8]
    let rawIssuer: [UInt8]

    /// - Returns: `nil` if the bytes are not an X.509 certificate in DER.
    public init?(der: [UInt8]) {
        guard let certificate = Certificate(der: der) else { return nil }
        self.init(certificate, der: der)
    }

    private init?(_ certificate: Certificate, der: [UInt8]) {
        let x509 = unsafe certificate.x509
        // OpenSSL sets EXFLAG_INVALID if an extension occurs twice (X509_get_extension_flags(3)). Different programs
        // could read different occurrences.
        let flags = unsafe X509_get_extension_flags(x509)
        guard let subject = unsafe X509_get_subject_name(x509), let issuer = unsafe X509_get_issuer_name(x509),
            let notBefore = unsafe CertificateTime(X509_get0_notBefore(x509)),
            let notAfter = unsafe CertificateTime(X509_get0_notAfter(x509)),
            let names = unsafe AlternativeNames(of: x509), flags & UInt32(EXFLAG_INVALID) == 0
        else { return nil }
        self.der = der
        publicKey = unsafe DER.bytes { unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(x509), &$0) }
        self.subject = unsafe DistinguishedName.line(subject)
        self.issuer = unsafe DistinguishedName.line(issuer)
        rawSubject = unsafe DER.bytes { unsafe i2d_X509_NAME(subject, &$0) }
        rawIssuer = unsafe DER.bytes { unsafe i2d_X509_NAME(issuer, &$0) }
        isSelfIssued = rawSubject == rawIssuer
        (self.notBefore, self.notAfter) = (notBefore, notAfter)
        (dnsNames, addresses) = (names.dns, names.addresses)
        self.names = dnsNames.map { DisplayText.line($0) } + addresses.map { IPAddress(bytes: $0).text }
        let usage = unsafe X509_get_extended_key_usage(x509)
        isForServers = flags & UInt32(EXFLAG_XKUSAGE) == 0 || usage & UInt32(XKU_SSL_SERVER | XKU_ANYEKU) != 0
    }
}

/// The hosts that a certificate is for: RFC 5280 §4.2.1.6.
private struct AlternativeNames {
    var dns: [String] = []
    var addresses: [[UInt8]] = []

    /// - Returns: `nil` if the extension can't be read.
    init?(of certificate: OpaquePointer) {
        var state: CInt = 0
        let list = unsafe OpaquePointer(X509_get_ext_d2i(certificate, NID_subject_alt_name, &state, nil))
        defer { ERR_clear_error() }
        guard let list = unsafe list else {
            if state == -1 { return }  // there is none
            return nil
        }
        defer { unsafe portolan_GENERAL_NAME_free_all(list) }
        for index in 0..<(unsafe portolan_GENERAL_NAME_count(list)) {
            guard let name = unsafe portolan_GENERAL_NAME_at(list, index), let text = unsafe portolan_GENERAL_NAME_string(name) else {
                continue
            }
            let bytes = unsafe Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(text), count: Int(ASN1_STRING_length(text))))
            if unsafe portolan_GENERAL_NAME_type(name) == GEN_DNS {
                // Bytes outside ASCII name no host.
                if bytes.allSatisfy({ (0x21...0x7E).contains($0) }) { dns.append(String(decoding: bytes, as: UTF8.self)) }
            } else if bytes.count == 4 || bytes.count == 16 {
                addresses.append(bytes)
            }
        }
    }
}

extension ServerCertificate: CustomStringConvertible {
    public var description: String { "the certificate of '\(subject)', issued by '\(issuer)'" }
}
