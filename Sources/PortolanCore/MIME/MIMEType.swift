// SPDX-License-Identifier: Apache-2.0

/// An internet media type: its essence and its parameters, in order.
///
/// Values come only from the parser and from constants, so their parts are always valid: type, subtype and parameter
/// names are HTTP tokens in lower case, no name occurs twice, and parameter values contain only HTTP quoted-string code
/// points (U+0009, U+0020…U+007E, U+0080…U+00FF). Two types are equal if their essences and parameters are equal,
/// including the order of the parameters and the case of their values.
///
///     let type = MIMEType(parsing: "Text/HTML; Charset=UTF-8")
///     type?.essence        // "text/html"
///     type?.charset        // "UTF-8"
///     type?.description    // "text/html;charset=UTF-8"
///
/// Source: WHATWG MIME Sniffing, sections 4.1 to 4.5.
public struct MIMEType: Sendable, Hashable {
    /// One parameter, such as `charset=utf-8`.
    public struct Parameter: Sendable, Hashable {
        /// The name, a lower-cased HTTP token.
        public let name: String

        /// The value without quotes and escaping backslashes. It can be empty.
        public let value: String
    }

    /// Type and subtype with the slash between them, in lower case: `text/plain`.
    public let essence: String

    /// The parameters in their original order. Of several with the same name, only the first.
    public let parameters: [Parameter]

    /// Makes a type from parts that are known to be valid.
    init(unchecked essence: String, parameters: [Parameter] = []) {
        self.essence = essence
        self.parameters = parameters
    }

    /// The part of the essence before the slash: `text`.
    public var type: String {
        String(essence.prefix { $0 != "/" })
    }

    /// The part of the essence after the slash: `plain`.
    public var subtype: String {
        String(essence.drop { $0 != "/" }.dropFirst())
    }

    /// The value of the parameter with this name, in any letter case.
    public subscript(parameter name: String) -> String? {
        let name = ASCII.lowercased(name.utf8.span)
        return parameters.first { $0.name == name }?.value
    }

    /// The value of the `charset` parameter, in its original letter case.
    ///
    /// Labels of encodings are case-insensitive, and can be unknown (WHATWG Encoding, section 4.2).
    public var charset: String? {
        parameters.first { $0.name == "charset" }?.value
    }
}
