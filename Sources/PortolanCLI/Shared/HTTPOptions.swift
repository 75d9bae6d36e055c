// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Portolan

/// How connections for `http:` and `https:` are made.
struct HTTPOptions: ParsableArguments {
    @Option(
        name: .customLong("connect-timeout"),
        help: ArgumentHelp(
            "Give up on a connection that takes longer than this, from the name's look-up to the end of the TLS handshake.",
            valueName: "seconds"), transform: Seconds.parse)
    var connectTimeout: Duration?

    @Flag(name: .customLong("http1.1"), help: "Use HTTP/1.1, even where the server can do HTTP/2.")
    var usesHTTP1 = false

    /// As curl has it: over TLS it is asked for anyway.
    @Flag(name: .customLong("http2"), help: .hidden)
    var usesHTTP2 = false

    var proxyPasswords: PasswordAnswer? { nil }

    func configuration() throws(Failure) -> HTTPConfiguration {
        var configuration = HTTPConfiguration()
        if let connectTimeout { configuration.connections.connectTimeout = connectTimeout }
        if usesHTTP1 { configuration.allowsHTTP2 = false }
        return configuration
    }
}
