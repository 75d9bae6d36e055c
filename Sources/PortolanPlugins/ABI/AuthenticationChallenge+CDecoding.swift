// SPDX-License-Identifier: Apache-2.0

import CPortolan
import PortolanCore

/// A challenge as it was read from a plugin, without the callback for the answer.
struct ReadChallenge {
    let space: ProtectionSpace
    let failureCount: Int
    let previousError: LoadError?

    /// - Throws: DESC-05 or CHAL-01; ERR-02 or ERR-03 for the previous error.
    init(reading pointer: UnsafePointer<portolan_challenge>?) throws(ContractViolation) {
        let challenge = unsafe try portolan_challenge.read(pointer)
        guard let protocolName = unsafe challenge.protocol.text, !protocolName.isEmpty, let host = unsafe challenge.host.text else {
            throw ContractViolation(.challengeIsComplete, "a challenge lacks its protocol or its host, or they are not UTF-8")
        }
        let realm = unsafe challenge.realm.isPresent ? challenge.realm.repairedText : nil
        guard ![protocolName, host, realm ?? ""].contains(where: { $0.unicodeScalars.contains(where: Text.isBreaking) }) else {
            throw ContractViolation(.challengeIsComplete, "a challenge's protocol, host or realm has a control character or a line break")
        }
        guard unsafe challenge.port == -1 || (0...65535).contains(challenge.port) else {
            throw unsafe ContractViolation(
                .challengeIsComplete, "a challenge has the port \(challenge.port); give 0 to 65535, or -1 for none")
        }
        guard unsafe challenge.failure_count >= 0 else {
            throw ContractViolation(.challengeIsComplete, "the failure count of a challenge is negative")
        }
        space = ProtectionSpace(
            kind: try unsafe Self.kind(of: challenge), protocolName: protocolName, host: host,
            port: unsafe challenge.port < 0 ? nil : Int(challenge.port),
            realm: realm, isProxy: unsafe challenge.is_proxy != 0)
        failureCount = unsafe Int(challenge.failure_count)
        previousError = unsafe challenge.previous == nil ? nil : try LoadError(reading: challenge.previous)
    }

    private static func kind(of challenge: portolan_challenge) throws(ContractViolation) -> ProtectionSpace.Kind {
        let certificates = unsafe try UnsafeBufferPointer(
            start: challenge.certificates, counted: challenge.certificate_count, "certificates")
        switch unsafe challenge.method {
        case PORTOLAN_ASK_PASSWORD: return unsafe .password(scheme: challenge.scheme.repairedText)
        case PORTOLAN_ASK_CLIENT_CERTIFICATE: return try unsafe .clientCertificate(acceptedIssuers: contents(of: certificates))
        case PORTOLAN_ASK_SERVER_TRUST: return try unsafe .serverTrust(chain: contents(of: certificates))
        default:
            throw unsafe ContractViolation(
                .challengeIsComplete, "a challenge has the method \(challenge.method.rawValue), which is not one of the published values")
        }
    }

    private static func contents(of certificates: UnsafeBufferPointer<portolan_string>) throws(ContractViolation) -> [[UInt8]] {
        var contents: [[UInt8]] = []
        try unsafe certificates.forEachElement { certificate throws(ContractViolation) in
            contents.append(try unsafe certificate.copyBytes("a certificate"))
        }
        return contents
    }
}
