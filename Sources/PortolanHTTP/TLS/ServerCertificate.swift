// SPDX-License-Identifier: Apache-2.0

/// What an X.509 certificate says of itself. Reading it proves nothing: that is the verification's part.
///
/// RFC 5280 §4.1
public struct ServerCertificate: Hashable, Sendable {
    /// The certificate itself.
    public let der: [UInt8]
    /// The subject's public key (`SubjectPublicKeyInfo`, DER): what stays the same where a certificate is renewed for the same key.
    public let publicKey: [UInt8]
    /// Whose it is, as one short line: the common name, or what there is in its place.
    public let subject: String
    /// Who issued it, as one short line.
    public let issuer: String
    /// For which hosts it is: DNS names as they stand there (`*.example.com`), and addresses.
    public let names: [String]

    let notBefore: CertificateTime
    let notAfter: CertificateTime
    /// Whether subject and issuer are the same name.
    let isSelfIssued: Bool
    /// DNS names, without the addresses.
    let dnsNames: [String]
    /// Each 4 or 16 bytes.
    let addresses: [[UInt8]]
    /// Whether it may be shown by a server (RFC 5280 §4.2.1.12).
    let isForServers: Bool
    let rawSubject: [UInt8]
    let rawIssuer: [UInt8]

    /// - Returns: `nil` where the bytes are no X.509 certificate in DER.
    public init?(der: [UInt8]) {
        // `try?` because what is wrong with it, nobody could mend.
        guard let certificate = try? Self(parsing: der) else { return nil }
        self = certificate
    }

    private init(parsing der: [UInt8]) throws(DERReader.SyntaxError) {
        var outer = DERReader(der[...])
        var certificate = DERReader(try outer.next(.derSequence))
        guard outer.isAtEnd else { throw DERReader.SyntaxError() }
        var body = DERReader(try certificate.next(.derSequence))
        _ = try body.next(ifTagged: .derConstructedContext(0))  // version
        _ = try body.next(.derInteger)  // serial number
        _ = try body.next(.derSequence)  // signature algorithm
        let issuer = try body.next(.derSequence)
        var validity = DERReader(try body.next(.derSequence))
        let subject = try body.next(.derSequence)
        let key = try body.next(.derSequence)
        _ = try body.next(ifTagged: .derContext(1))
        _ = try body.next(ifTagged: .derContext(2))
        let extensions = try CertificateExtensions(try body.next(ifTagged: .derConstructedContext(3)))

        self.der = der
        publicKey = Array(key.whole)
        self.subject = try DistinguishedName.line(subject)
        self.issuer = try DistinguishedName.line(issuer)
        rawSubject = Array(subject.whole)
        rawIssuer = Array(issuer.whole)
        isSelfIssued = subject.whole == issuer.whole
        notBefore = try CertificateTime(try validity.next())
        notAfter = try CertificateTime(try validity.next())
        dnsNames = extensions.dnsNames
        addresses = extensions.addresses
        names = dnsNames.map { DisplayText.line($0) } + addresses.map(ServerName.text(ofAddress:))
        isForServers = extensions.isForServers
    }
}

extension ServerCertificate: CustomStringConvertible {
    public var description: String { "the certificate of '\(subject)', issued by '\(issuer)'" }
}
