// SPDX-License-Identifier: Apache-2.0

public import PortolanCore
import PortolanURL

/// A form with the encoding `application/x-www-form-urlencoded`: names and values as text. It can't contain files; a
/// ``MultipartForm`` can.
///
///     let request = try Request("https://example.org/login", form: ["user": "me", "remember": "yes"])
///
/// A space becomes `+`. Letters, digits and `*-._` stay; every other byte of the UTF-8 is percent-encoded.
///
/// WHATWG URL §5.2
public struct URLEncodedForm: Hashable, Sendable, ExpressibleByDictionaryLiteral {
    /// The pairs `name=value`, with `&` between them.
    public private(set) var encoded = ""

    public init() {}

    /// Keeps the order of the pairs. A name can occur several times.
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { append(name, value) }
    }

    /// Appends a pair.
    public mutating func append(_ name: String, _ value: String) {
        if !encoded.isEmpty { encoded += "&" }
        encoded += "\(PercentEncoding.formEncoded(name))=\(PercentEncoding.formEncoded(value))"
    }

    /// The body of a request that submits the form. It can be sent again.
    public var body: Body { .text(encoded) }
}
