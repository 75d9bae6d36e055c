// SPDX-License-Identifier: Apache-2.0

/// An internet media type: its essence and its parameters, in order.
///
/// Only the parser and the constants of this type make values, so the parts are always legal: type, subtype and
/// parameter names are lower-cased HTTP tokens, no name occurs twice, and values hold HTTP quoted-string code points
/// only (U+0009, U+0020…U+007E, U+0080…U+00FF). Two values are equal if their essences and their parameters are equal.
/// The parameters must have the same order, and their values the same case.
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

        /// The value as it was written, without its quotes and backslashes. It may be empty.
        public let value: String
    }

    /// Type and subtype with the slash between them, in lower case: `text/plain`.
    public let essence: String

    /// The parameters in the order in which they were written. Of several with the same name, only the first.
    public let parameters: [Parameter]

    /// Makes a type from parts that are known to be legal.
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

    /// The value of the parameter with this name, which is case-insensitive.
    public subscript(parameter name: String) -> String? {
        let name = ASCII.lowercased(name.utf8.span)
        return parameters.first { $0.name == name }?.value
    }

    /// The value of the `charset` parameter, in the case in which it was written.
    ///
    /// It is a label, not a decoder. Labels are case-insensitive (WHATWG Encoding, section 4.2), and may name no
    /// encoding at all.
    public var charset: String? {
        parameters.first { $0.name == "charset" }?.value
    }
}
