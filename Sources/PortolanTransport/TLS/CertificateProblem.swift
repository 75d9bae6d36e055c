// SPDX-License-Identifier: Apache-2.0

import CPortolanOpenSSL
import PortolanCore

/// A reason why a server's certificate chain is not trusted.
enum CertificateProblem: Hashable {
    case unreadable
    case expired(ServerCertificate)
    case notYetValid(ServerCertificate)
    case wrongName(ServerCertificate)
    case notForServers
    case selfSigned
    /// No trusted authority has issued the last certificate of the chain.
    case unknownAuthority(ServerCertificate)
    /// The key, or the hash function of the signature, is not secure.
    case weak(ServerCertificate, isKey: Bool)
    /// OpenSSL's text for another error.
    case other(String)

    /// Finds the problems of the chain.
    ///
    /// - Parameters:
    ///   - chain: DER, leaf first.
    ///   - chainError: OpenSSL's error for the chain; `nil` if the chain leads to a trusted authority. In that case,
    ///     only the name can be wrong.
    ///   - now: in seconds since 1970.
    static func find(in chain: [[UInt8]], for name: ServerName, _ chainError: ChainError?, now: Int64) -> [Self] {
        guard let first = chain.first, let leaf = ServerCertificate(der: first) else { return [.unreadable] }
        let nameProblems: [Self] = name.isNamed(by: leaf) ? [] : [.wrongName(leaf)]
        guard let chainError else { return nameProblems }
        let path = Self.path(from: leaf, in: chain.dropFirst().compactMap(ServerCertificate.init(der:)))
        let dateProblems = path.compactMap { certificate -> Self? in
            if certificate.notAfter.seconds < now { return .expired(certificate) }
            return certificate.notBefore.seconds > now ? .notYetValid(certificate) : nil
        }
        if !dateProblems.isEmpty { return dateProblems + nameProblems }
        if !leaf.isForServers { return [.notForServers] + nameProblems }
        let faultyCertificate = chainError.depth < path.count ? path[chainError.depth] : leaf
        switch chainError.code {
        case X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL: return [.weak(faultyCertificate, isKey: true)] + nameProblems
        case X509_V_ERR_CA_MD_TOO_WEAK: return [.weak(faultyCertificate, isKey: false)] + nameProblems
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_UNTRUSTED:
            guard let last = path.last, path.count > 1 || !leaf.isSelfIssued else { return [.selfSigned] + nameProblems }
            return [.unknownAuthority(last)] + nameProblems
        default: return [.other(chainError.phrase)] + nameProblems
        }
    }

    /// The leaf, its issuer, the issuer's issuer and so on, until a certificate is missing or self-issued.
    private static func path(from leaf: ServerCertificate, in others: [ServerCertificate]) -> [ServerCertificate] {
        var (path, rest) = ([leaf], others)
        while let last = path.last, !last.isSelfIssued, let index = rest.firstIndex(where: { $0.rawSubject == last.rawIssuer }) {
            path.append(rest.remove(at: index))
        }
        return path
    }

    /// The problem, as a part of a sentence.
    private func text(leaf: ServerCertificate?) -> String {
        switch self {
        case .unreadable: "it can't be read"
        case .expired(let certificate): "\(subjectPhrase(certificate, leaf)) expired on \(certificate.notAfter.dateText)"
        case .notYetValid(let certificate): "\(subjectPhrase(certificate, leaf)) is not valid before \(certificate.notBefore.dateText)"
        case .wrongName(let certificate): "it is for \(Self.hostList(of: certificate))"
        case .notForServers: "it is not meant for servers"
        case .selfSigned: "it is self-signed"
        case .unknownAuthority(let certificate):
            certificate.isSelfIssued
                ? "its root authority '\(certificate.subject)' is not trusted"
                : "\(certificate == leaf ? "its issuer" : "the last issuer in its chain"), '\(certificate.issuer)', is not known"
        case .weak(let certificate, let isKey):
            certificate == leaf
                ? "its \(isKey ? "key" : "signature") is too weak"
                : "the \(isKey ? "key" : "signature") of '\(certificate.subject)' in its chain is too weak"
        case .other(let phrase): phrase
        }
    }

    private func subjectPhrase(_ certificate: ServerCertificate, _ leaf: ServerCertificate?) -> String {
        certificate == leaf ? "it" : "the certificate of '\(certificate.subject)' in its chain"
    }

    private static func hostList(of certificate: ServerCertificate) -> String {
        let limit = 4
        guard !certificate.names.isEmpty else { return "no host (the subject '\(certificate.subject)' is not used)" }
        let shownNames = certificate.names.prefix(limit).map { "'\($0)'" }.joined(separator: ", ")
        return certificate.names.count > limit ? "\(shownNames) and \(certificate.names.count - limit) more" : shownNames
    }

    /// `nil` if no setting of the caller helps.
    private var remedy: LoadError.Remedy? {
        switch self {
        case .selfSigned: .trustCertificate
        case .unknownAuthority: .trustAuthority
        case .expired, .notYetValid, .wrongName, .unreadable, .notForServers, .weak, .other: nil
        }
    }

    private var advice: String {
        switch self {
        case .expired, .notYetValid: "the server needs another certificate, or this machine's clock is wrong"
        case .wrongName: "check the address"
        case .unreadable, .notForServers, .weak, .other: "the server needs another certificate"
        case .selfSigned, .unknownAuthority: remedy?.phrase ?? ""
        }
    }

    /// The error for `problems`; `nil` if there are none.
    static func error(_ problems: [Self], of peer: TLSPeer, chain: [[UInt8]]) -> LoadError? {
        guard let first = problems.first else { return nil }
        let leaf = chain.first.flatMap(ServerCertificate.init(der:))
        let reasons = problems.prefix(3).map { $0.text(leaf: leaf) }.joined(separator: ", and ")
        var error = LoadError(
            .certificateNotTrusted, message: "the certificate of \(peer.quotedHost) is not trusted: \(reasons); \(first.advice)")
        error.remedy = first.remedy
        return error
    }
}
