// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanCore

extension OutgoingRequest {
    /// Sets what the proxy is to know, and only where the proxy is who reads the request: the caller's own `Proxy-Authorization` goes to a
    /// proxy that forwards the request, where no other credential is known for it, and never to an origin.
    mutating func authorize(toProxyOf key: ConnectionKey) throws(LoadError) {
        guard key.usesAbsoluteForm else {
            // A look first: to take a field out, `HTTPFields` makes an index of all.
            if fields.contains(where: { $0.name == .proxyAuthorization }) { fields[.proxyAuthorization] = nil }
            return
        }
        if let credential = key.proxy?.credential { fields[.proxyAuthorization] = try credential.basicValue() }
    }
}
