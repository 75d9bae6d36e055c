// SPDX-License-Identifier: Apache-2.0

import CTally

/// A body on the benchmarks' nginx.
struct HTTPTarget: Sendable {
    let url: String
    /// How many bytes it has.
    let size: Int

    /// As a raw loop needs it: on 127.0.0.1.
    func parts() throws -> (port: UInt16, path: String) {
        let rest = url.drop { $0 != ":" }.dropFirst(3)
        let authority = rest.prefix { $0 != "/" }
        guard let port = authority.split(separator: ":").last.flatMap({ UInt16($0) }) else { throw Missing("\(url) names no port") }
        return (port, String(rest.dropFirst(authority.count)))
    }
}

extension Workshop {
    /// Noise of `size` bytes, over plain HTTP/1.1.
    func target(_ size: Int) throws -> HTTPTarget {
        let name = try noise(size)
        return HTTPTarget(url: try nginx().http + "/" + name, size: size)
    }
}
