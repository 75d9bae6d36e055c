// SPDX-License-Identifier: Apache-2.0

/// A reply of a SOCKS5 proxy that reports a failure.
///
/// RFC 1928 §6
struct SOCKS5Reply: Error, Equatable {
    let code: UInt8

    var phrase: String {
        switch code {
        case 1: "general failure"
        case 2: "its rules do not allow that connection"
        case 3: "network unreachable"
        case 4: "host unreachable"
        case 5: "connection refused"
        case 6: "time to live expired"
        case 7: "it does not support the command CONNECT"
        case 8: "it does not support that type of address"
        default: "an unknown reason (\(code))"
        }
    }

    /// Whether the request can succeed with another address of the same host.
    var dependsOnAddress: Bool {
        switch code {
        case 1, 3...6, 8: true
        default: false
        }
    }
}
