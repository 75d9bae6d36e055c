// SPDX-License-Identifier: Apache-2.0

/// The server that a secure connection is to lead to.
struct TLSPeer: Hashable, Sendable, CustomStringConvertible {
    /// Of the URL, without brackets.
    let host: String
    let port: Int
    /// The origin, as a message names it.
    let description: String
    var isProxy = false

    var name: ServerName { ServerName(host: host) }
    /// The host, as a message quotes it.
    var quotedHost: String { "'\(DisplayText.line(host))'" }
}
