// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanHTTPSyntax
import PortolanTransport

extension PreparedRequest {
    /// Sets the proxy's credential if the proxy reads the request. If the proxy has none, a `Proxy-Authorization` field
    /// of the caller is sent to the proxy. It is never sent to an origin.
    ///
    /// - Throws: ``LoadError/Code/badRequest`` if the caller gave such a field, and no proxy reads the request.
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
            method: method.rawValue, target: RequestTarget.absoluteForm(of: url).text,
            contents: { () throws(LoadError) in try body.contents() }
        ).octets
        fields[.proxyAuthorization] = nil
        fields.append(HTTPField(name: .proxyAuthorization, value: value))
    }

    /// Sets the `Authorization` field, which answers the origin's challenge.
    ///
    /// - Returns: for Digest, the object that checks the server's proof in the response; otherwise `nil`.
    mutating func authorize(by authorization: Authorization, sending body: Body?) throws(LoadError) -> Authorization.Proof? {
        let (value, proof) = try authorization.value(
            method: method.rawValue, target: path, contents: { () throws(LoadError) in try body.contents() })
        fields[.authorization] = nil
        fields.append(HTTPField(name: .authorization, value: value))
        return proof
    }
}

extension Body? {
    /// The maximum size of a body for Digest with `qop=auth-int`, in bytes.
    private static let hashedBodyLimit: Int64 = 64 << 20

    /// Reads the whole body, for Digest with `qop=auth-int`.
    ///
    /// - Throws: ``LoadError/Code/authenticationRequired`` if the body can't be read again, or is too large.
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
