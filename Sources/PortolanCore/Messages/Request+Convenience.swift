// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes

extension Request {
    /// Makes a request for a Foundation URL.
    ///
    /// - Throws: ``LoadError/Code/badURL`` if the URL is not absolute, or not valid according to the WHATWG URL
    ///   Standard.
    public init(_ url: URL, method: HTTPRequest.Method = .get, fields: HTTPFields = HTTPFields(), body: Body? = nil) throws(LoadError) {
        try self.init(url.absoluteString, method: method, fields: fields, body: body)
    }

    /// Makes a request for a URL as text, with parameters that are appended to its query.
    ///
    ///     try Request("https://example.org/search", query: ["q": "C++ & Swift"])
    ///     // https://example.org/search?q=C%2B%2B+%26+Swift
    ///
    /// Names and values are encoded as `application/x-www-form-urlencoded` (WHATWG URL Standard): a space becomes `+`,
    /// and a `+` becomes `%2B`.
    ///
    /// - Throws: ``LoadError/Code/badURL`` if the text is not an absolute URL.
    public init(
        _ text: String, query: KeyValuePairs<String, String>, method: HTTPRequest.Method = .get, fields: HTTPFields = HTTPFields(),
        body: Body? = nil
    ) throws(LoadError) {
        let encoded = query.map { "\(PercentEncoding.formEncoded($0.key))=\(PercentEncoding.formEncoded($0.value))" }.joined(separator: "&")
        let parts = text.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        var url = String(parts[0])
        if !encoded.isEmpty {
            if !url.contains("?") { url += "?" } else if !url.hasSuffix("?"), !url.hasSuffix("&") { url += "&" }
            url += encoded
        }
        if parts.count > 1 { url += "#\(parts[1])" }
        try self.init(url, method: method, fields: fields, body: body)
    }

    /// Sets a header field, in place of all fields of that name. `nil` removes them.
    ///
    ///     try request.setField("X-Api-Key", "secret")
    ///
    /// - Throws: ``LoadError/Code/badRequest`` if `name` is not a token, or if `value` has a control character, or
    ///   white space at its start or end (RFC 9110 §5.1, §5.5).
    public mutating func setField(_ name: String, _ value: String?) throws(LoadError) {
        guard let fieldName = HTTPField.Name(name) else {
            throw LoadError(.badRequest, message: "'\(name)' is not a name of a header field; use letters, digits and hyphens")
        }
        if let value, !HTTPField.isValidValue(value) {
            throw LoadError(
                .badRequest,
                message: "the value of the field '\(name)' has a control character, or white space at its start or end; remove it")
        }
        fields[fieldName] = value
    }

    /// Returns the value of a header field, with commas between the values of several fields; `nil` if there is none.
    public func field(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { fields[$0] }
    }
}

extension Response {
    /// Returns the value of a header field, with commas between the values of several fields; `nil` if there is none.
    public func field(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { fields[$0] }
    }
}

extension Body {
    /// A body in memory.
    public static func data(_ data: Data) -> Body { bytes([UInt8](data)) }
}
