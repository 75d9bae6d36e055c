// SPDX-License-Identifier: Apache-2.0

/// One challenge of a `WWW-Authenticate` or `Proxy-Authenticate` field: a scheme with its parameters or its token68.
///
/// RFC 9110 §11.3, §11.6.1
package struct HTTPChallenge: Equatable, Sendable {
    /// In lower case.
    package let scheme: String
    /// The token68, which some schemes have in place of parameters.
    var token68: String?
    /// In the order received. Names are in lower case. Values are without quotes.
    var parameters: [Parameter] = []

    struct Parameter: Equatable, Sendable {
        let name: String
        /// As received, without quotes.
        let octets: [UInt8]
        /// UTF-8 if the octets are valid UTF-8, otherwise ISO-8859-1.
        var value: String { String(validating: octets, as: UTF8.self) ?? octets.span.latin1Text }
    }

    /// The value of the parameter. `name` is in lower case. The RFC forbids repeated names; the first value counts.
    package subscript(name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    /// The octets of the value of `name`, as received.
    package func octets(of name: String) -> [UInt8]? {
        parameters.first { $0.name == name }?.octets
    }
}
