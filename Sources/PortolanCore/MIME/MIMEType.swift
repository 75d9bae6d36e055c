// SPDX-License-Identifier: Apache-2.0

/// An internet media type: its essence and its parameters, in order.
///
/// A value can only be made by the parser or named below, so its parts are always legal: type, subtype and parameter names are lower-cased
/// HTTP tokens, no name occurs twice, and values hold HTTP quoted-string code points only (U+0009, U+0020…U+007E, U+0080…U+00FF).
/// Two values are equal when essence and parameters are, the parameters in the same order and their values with the same case.
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

        /// The value as it was written, without the quotes and backslashes that carried it. It may be empty.
        public let value: String
    }

    /// Type and subtype with the slash between them, in lower case: `text/plain`.
    public let essence: String

    /// The parameters in the order they were written; of several with one name, the first.
    public let parameters: [Parameter]

    /// Takes over parts that are known to be legal.
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

    /// The value of the parameter of this name, whose case does not matter.
    public subscript(parameter name: String) -> String? {
        let name = ASCII.lowercased(name.utf8.span)
        return parameters.first { $0.name == name }?.value
    }

    /// The value of the `charset` parameter, with the case it was written in.
    ///
    /// It is a label, not a decoder: labels are compared without regard to case (WHATWG Encoding, section 4.2), and may name no encoding at all.
    public var charset: String? {
        parameters.first { $0.name == "charset" }?.value
    }
}
