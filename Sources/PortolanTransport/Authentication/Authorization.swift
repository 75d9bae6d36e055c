// SPDX-License-Identifier: Apache-2.0

package import PortolanCore
package import PortolanHTTPSyntax

/// A credential, and the offer of the peer that it answers. Makes the `Authorization` or `Proxy-Authorization` field of
/// each request.
package struct Authorization: Hashable, Sendable {
    package let credential: PasswordCredential
    package let offer: AuthenticationOffer

    package init(_ credential: PasswordCredential, for offer: AuthenticationOffer) {
        (self.credential, self.offer) = (credential, offer)
    }

    /// The values of a sent Digest response. With them, ``check(_:host:)`` verifies that the HTTP response comes from a
    /// server that knows the password (RFC 7616 §3.5).
    package final class Proof: Sendable {
        fileprivate let key: String
        fileprivate let challenge: DigestChallenge
        fileprivate let nonceCount, clientNonce, target: String

        fileprivate init(key: String, challenge: DigestChallenge, nonceCount: String, clientNonce: String, target: String) {
            (self.key, self.challenge) = (key, challenge)
            (self.nonceCount, self.clientNonce, self.target) = (nonceCount, clientNonce, target)
        }
    }

    /// Returns the bytes of the request's body, for Digest with `qop=auth-int`.
    package typealias Contents = () throws(LoadError) -> [UInt8]

    /// The value of the field for one request. Each call counts as a use of the nonce.
    ///
    /// - Parameters:
    ///   - target: the target in the request line.
    ///   - clientNonce: a random text for one use. A session algorithm uses the client nonce of the session's first
    ///     request instead.
    ///   - contents: returns the bytes of the body.
    /// - Throws: ``LoadError/Code/authenticationRequired`` if the scheme can't carry the credential.
    package func value(
        method: String, target: String, clientNonce: String = Self.randomNonce(), contents: Contents
    ) throws(LoadError) -> (octets: [UInt8], proof: Proof?) {
        switch offer {
        case .basic, .socks: return (Array(try credential.basicValue().utf8), nil)
        case .digest(let challenge):
            return try digest(challenge, method: method, target: target, clientNonce: clientNonce, contents: contents)
        }
    }

    package static func randomNonce() -> String {
        String(UInt64.random(in: .min ... .max), radix: 16) + String(UInt64.random(in: .min ... .max), radix: 16)
    }

    /// Returns the field's value for Digest (RFC 7616 §3.4).
    private func digest(
        _ challenge: DigestChallenge, method: String, target: String, clientNonce: String, contents: Contents
    ) throws(LoadError) -> (octets: [UInt8], proof: Proof?) {
        let algorithm = challenge.algorithm
        let user = Array(credential.user.utf8)
        var (key, clientNonce) = (try algorithm.hash([user, challenge.realmOctets, Array(credential.password.utf8)]), clientNonce)
        if algorithm.isSession {
            let session = try challenge.session(with: key, newClientNonce: clientNonce)
            (key, clientNonce) = (session.key, session.clientNonce)
        }
        var request = "\(method):\(target)"
        if challenge.protection == .integrity { request += ":" + (try algorithm.hash(try contents())) }
        let nonceCount = challenge.protection == .none ? "" : challenge.nextUse()
        let proof = Proof(key: key, challenge: challenge, nonceCount: nonceCount, clientNonce: clientNonce, target: target)
        let response = try proof.response(to: request)

        var value = Array("Digest ".utf8)
        func append(_ name: String, _ octets: some Sequence<UInt8>) {
            if value.last != UInt8(ascii: " ") { value += Array(", ".utf8) }
            value += Array("\(name)=".utf8) + octets
        }
        if challenge.hashesUser {
            append("username", Self.quoted(Array(try algorithm.hash([user, challenge.realmOctets]).utf8)))
        } else if user.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) {
            append("username", Self.quoted(user))
        } else {
            append("username*", "UTF-8''\(Self.extended(credential.user))".utf8)
        }
        append("realm", Self.quoted(challenge.realmOctets))
        append("nonce", Self.quoted(challenge.nonce))
        append("uri", Self.quoted(Array(target.utf8)))
        if let name = algorithm.name { append("algorithm", name.utf8) }
        if challenge.protection != .none {
            append("qop", challenge.protection.rawValue.utf8)
            append("nc", nonceCount.utf8)
        }
        // The key of a session algorithm depends on the client nonce, also without qop.
        if challenge.protection != .none || algorithm.isSession { append("cnonce", Self.quoted(Array(clientNonce.utf8))) }
        append("response", Self.quoted(Array(response.utf8)))
        if let opaque = challenge.opaque { append("opaque", Self.quoted(opaque)) }
        if challenge.hashesUser { append("userhash", "true".utf8) }
        return (value, proof)
    }

    private static func quoted(_ octets: [UInt8]) -> [UInt8] {
        let quote = UInt8(ascii: "\"")
        let backslash = UInt8(ascii: "\\")
        return [quote] + octets.flatMap { $0 == quote || $0 == backslash ? [backslash, $0] : [$0] } + [quote]
    }

    /// Percent-encodes the text for `username*` (RFC 8187 §3.2.1).
    private static func extended(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension Authorization.Proof {
    /// - Parameter request: the method and the target of a request, or only the target for a response.
    fileprivate func response(to request: String) throws(LoadError) -> String {
        let algorithm = challenge.algorithm
        let hash = try algorithm.hash(Array(request.utf8))
        let uses = challenge.protection == .none ? [] : [nonceCount, clientNonce, challenge.protection.rawValue]
        return try algorithm.hash([Array(key.utf8), challenge.nonce] + (uses + [hash]).map { Array($0.utf8) })
    }

    /// Returns the challenge that the next request answers, if `Authentication-Info` announces another nonce for it.
    ///
    /// RFC 7616 §3.5
    package func nextChallenge(_ info: HTTPChallenge) -> DigestChallenge? {
        guard let nonce = info.octets(of: "nextnonce"), !nonce.isEmpty, nonce != challenge.nonce else { return nil }
        return challenge.with(nonce: nonce)
    }

    /// Checks the value of an `Authentication-Info` field, if it contains `rspauth`.
    ///
    /// If the request used `auth-int`, the value depends on the response's body, and is not checked.
    ///
    /// - Throws: ``LoadError/Code/badResponse`` if the value is wrong, or has another quality of protection than the
    ///   request.
    package func check(_ info: HTTPChallenge, host: String) throws(LoadError) {
        guard let proof = info["rspauth"], challenge.protection != .integrity else { return }
        // A proof with other values is an error. If it were only ignored, any server could avoid the check.
        let isForThisRequest =
            (info["qop"].map { $0.lowercased() == challenge.protection.rawValue } ?? true)
            && (info["cnonce"] ?? clientNonce) == clientNonce
            && (info["nc"].map { UInt32($0, radix: 16) == UInt32(nonceCount, radix: 16) } ?? true)
        guard isForThisRequest, proof.lowercased() == (try response(to: ":\(target)")) else {
            throw LoadError(
                .badResponse,
                message:
                    "the server \(QuotedText(host)) could not prove that it knows the password (rspauth, RFC 7616 §3.5); it may not be the "
                    + "server it claims to be")
        }
    }
}
