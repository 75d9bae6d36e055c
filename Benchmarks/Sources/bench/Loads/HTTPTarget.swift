// SPDX-License-Identifier: Apache-2.0

import CTally

/// A body on the benchmarks' nginx.
struct HTTPTarget: Sendable {
    let url: String
    /// The size of the body in bytes.
    let size: Int
    /// `nil` means plain HTTP/1.1.
    var security: Security?

    /// The settings for loads over TLS.
    struct Security: Hashable, Sendable {
        /// The file with the certificate of the only trusted authority.
        let authority: String
        /// Whether HTTP/2 is offered; otherwise only HTTP/1.1 is.
        let usesHTTP2: Bool
    }

    /// The parts that a raw loop needs to connect to 127.0.0.1.
    func parts() throws -> (port: UInt16, path: String) {
        let rest = url.drop { $0 != ":" }.dropFirst(3)
        let authority = rest.prefix { $0 != "/" }
        guard let port = authority.split(separator: ":").last.flatMap({ UInt16($0) }) else { throw Missing("\(url) names no port") }
        return (port, String(rest.dropFirst(authority.count)))
    }
}

extension Fixture {
    /// Returns a target with `size` pseudorandom bytes, over plain HTTP/1.1.
    func target(_ size: Int) throws -> HTTPTarget {
        let name = try noise(size)
        return HTTPTarget(url: try nginx().http + "/" + name, size: size)
    }

    /// Returns the same target over TLS.
    func secureTarget(_ size: Int, usesHTTP2: Bool) throws -> HTTPTarget {
        let name = try noise(size)
        let nginx = try nginx()
        let security = HTTPTarget.Security(authority: nginx.authority, usesHTTP2: usesHTTP2)
        return HTTPTarget(url: nginx.https + "/" + name, size: size, security: security)
    }
}
