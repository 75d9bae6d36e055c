// SPDX-License-Identifier: Apache-2.0

/// A proxy to connect to.
struct Proxy: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// Requests go to it as they are, in absolute form; for `https:` it makes a tunnel (RFC 9110 §9.3.6).
        case http
        /// RFC 1928
        case socks5
    }

    let kind: Kind
    let host: String
    let port: Int
}
