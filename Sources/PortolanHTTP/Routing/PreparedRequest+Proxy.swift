// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore
import PortolanTransport

extension PreparedRequest {
    /// Sets the proxy's credential, only if the proxy reads the request. The caller's own `Proxy-Authorization` goes to
    /// a proxy that forwards the request, if no other credential is known for it, and never to an origin.
    ///
    /// - Throws: ``LoadError/Code/badRequest`` if there is no such proxy, because the caller would believe that the
    ///   field was sent.
    mutating func authorize(toProxyOf key: ConnectionKey) throws(LoadError) {
        guard key.usesAbsoluteForm else {
            guard !fields.contains(where: { $0.name == .proxyAuthorization }) else {
                throw LoadError(
                    .badRequest,
                    message: "the field 'Proxy-Authorization' can't be sent as given: no proxy reads this request; "
                        + "leave it out, and give the proxy's URL a user and password")
            }
            return
        }
        if let credential = key.proxy?.credential { fields[.proxyAuthorization] = try credential.basicValue() }
    }
}
