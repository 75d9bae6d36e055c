// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

extension PreparedRequest {
    /// Sets the proxy's credential, only if the proxy reads the request. The caller's own `Proxy-Authorization` goes to
    /// a proxy that forwards the request, if no other credential is known for it, and never to an origin.
    ///
    /// - Throws: ``LoadError/Code/badRequest`` if there is no such proxy, because the caller would believe that the
    ///   field was sent.
    mutating func authorize(toProxyOf key: ConnectionKey, sending body: Body?) throws(LoadError) {
        guard key.usesAbsoluteForm else {
            guard !fields.contains(where: { $0.name == .proxyAuthorization }) else {
                throw LoadError(
                    .badRequest,
                    message: "the field 'Proxy-Authorization' can't be sent as given: no proxy reads this request; "
                        + "leave it out, and give the proxy's URL a user and password")
            }
            return
        }
        guard let authorization = key.proxy?.authorization else { return }
        let value = try authorization.value(
            method: method.rawValue, target: RequestTarget.absolute(of: url).text, contents: { () throws(LoadError) in try body.contents() }
        ).octets
        fields[.proxyAuthorization] = nil
        fields.append(HTTPField(name: .proxyAuthorization, value: value))
    }

    /// Sets the `Authorization` field.
    ///
    /// - Returns: the check of the response, for Digest.
    mutating func authorize(by authorization: Authorization, sending body: Body?) throws(LoadError) -> Authorization.Proof? {
        let (value, proof) = try authorization.value(
            method: method.rawValue, target: path, contents: { () throws(LoadError) in try body.contents() })
        fields[.authorization] = nil
        fields.append(HTTPField(name: .authorization, value: value))
        return proof
    }
}

extension Body? {
    /// The largest body that is read for its hash, in bytes.
    private static let hashedBodyLimit: Int64 = 64 << 20

    /// The bytes of a body that can be read again, for Digest with `qop=auth-int`.
    ///
    /// - Throws: ``LoadError/Code/authenticationRequired`` if they can't be read now, or are too many.
    fileprivate func contents() throws(LoadError) -> [UInt8] {
        guard let body = self else { return [] }
        func fail(_ reason: String) -> LoadError {
            LoadError(
                .authenticationRequired,
                message: "the server wants a hash of the body (Digest with qop=auth-int), but \(reason); send bytes or a file of at most "
                    + "\(Self.hashedBodyLimit >> 20) MiB")
        }
        guard body.isRewindable else { throw fail("the body can be read only once") }
        let reader = try body.makeReader()
        defer { reader.close() }
        var contents: [UInt8] = []
        while true {
            guard contents.count <= Self.hashedBodyLimit else { throw fail("the body is larger") }
            var result = BodyRead.end
            contents += [UInt8](capacity: 64 << 10) { output in result = reader.read(into: &output, whenReady: {}) }
            switch result {
            case .bytes: continue
            case .end: return contents
            case .wait: throw fail("the body comes in pieces")
            case .failed(let error): throw error
            }
        }
    }
}
