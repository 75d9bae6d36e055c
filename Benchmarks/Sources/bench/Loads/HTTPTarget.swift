// SPDX-License-Identifier: Apache-2.0

import CTally

/// A body on the benchmarks' nginx.
struct HTTPTarget: Sendable {
    let url: String
    /// How many bytes it has.
    let size: Int
    /// `nil`: plain HTTP/1.1.
    var security: Security?

    /// What everybody who loads it over TLS needs.
    struct Security: Hashable, Sendable {
        /// The file with the certificate of the authority that is trusted, and no other.
        let authority: String
        /// Whether HTTP/2 is offered; otherwise HTTP/1.1 is all there is.
        let usesHTTP2: Bool
    }

    /// As a raw loop needs it: on 127.0.0.1.
    func parts() throws -> (port: UInt16, path: String) {
        let rest = url.drop { $0 != ":" }.dropFirst(3)
        let authority = rest.prefix { $0 != "/" }
        guard let port = authority.split(separator: ":").last.flatMap({ UInt16($0) }) else { throw Missing("\(url) names no port") }
        return (port, String(rest.dropFirst(authority.count)))
    }
}

extension Fixture {
    /// Noise of `size` bytes, over plain HTTP/1.1.
    func target(_ size: Int) throws -> HTTPTarget {
        let name = try noise(size)
        return HTTPTarget(url: try nginx().http + "/" + name, size: size)
    }

    /// The same over TLS.
    func secureTarget(_ size: Int, usesHTTP2: Bool) throws -> HTTPTarget {
        let name = try noise(size)
        let nginx = try nginx()
        let security = HTTPTarget.Security(authority: nginx.authority, usesHTTP2: usesHTTP2)
        return HTTPTarget(url: nginx.https + "/" + name, size: size, security: security)
    }
}
