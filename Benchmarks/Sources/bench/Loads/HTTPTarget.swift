// SPDX-License-Identifier: Apache-2.0

import CTally

/// A body that the nginx of the benchmarks serves.
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
        /// Whether the client offers HTTP/2. Otherwise it offers only HTTP/1.1.
        let usesHTTP2: Bool
    }

    /// The folders of the server, by the `Cache-Control` of their files.
    enum Caching: String {
        /// `max-age=86400`
        case fresh
        /// `no-cache`
        case validated
        /// `no-store`
        case unstored
    }

    /// The parts of the URL that a raw loop needs to connect to 127.0.0.1.
    func portAndPath() throws -> (port: UInt16, path: String) {
        let rest = url.drop { $0 != ":" }.dropFirst(3)
        let authority = rest.prefix { $0 != "/" }
        guard let port = authority.split(separator: ":").last.flatMap({ UInt16($0) }) else {
            throw MeasurementError("\(url) names no port")
        }
        return (port, String(rest.dropFirst(authority.count)))
    }
}

extension Fixture {
    /// Returns a target with `size` pseudorandom bytes, over plain HTTP/1.1.
    func target(_ size: Int) throws -> HTTPTarget {
        let name = try noiseFile(size)
        return HTTPTarget(url: try nginx().http + "/" + name, size: size)
    }

    /// Returns a target whose `Cache-Control` says what a cache may do with it.
    func target(_ size: Int, _ caching: HTTPTarget.Caching) throws -> HTTPTarget {
        let name = try noiseFile(size)
        return HTTPTarget(url: "\(try nginx().http)/\(caching.rawValue)/\(name)", size: size)
    }

    /// Returns the same target over TLS.
    func secureTarget(_ size: Int, usesHTTP2: Bool) throws -> HTTPTarget {
        let name = try noiseFile(size)
        let nginx = try nginx()
        let security = HTTPTarget.Security(authority: nginx.authority, usesHTTP2: usesHTTP2)
        return HTTPTarget(url: nginx.https + "/" + name, size: size, security: security)
    }
}
