// SPDX-License-Identifier: Apache-2.0

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field: a scheme, and what it says.
///
/// RFC 9110 §11.3, §11.6.1
package struct HTTPChallenge: Equatable, Sendable {
    /// In lower case.
    package let scheme: String
    /// What stands in place of parameters, where it does.
    var token68: String?
    /// In the order received, names in lower case, values without their quotes.
    var parameters: [Parameter] = []

    struct Parameter: Equatable, Sendable {
        let name: String
        let value: String
    }

    /// The value under `name`, which is in lower case; of several, which the RFC forbids, the first.
    package subscript(name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }
}
