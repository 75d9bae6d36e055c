// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import HTTPTypes
public import PortolanCore

extension Request {
    /// Makes a request that sends a value as JSON.
    ///
    /// - Parameters:
    ///   - text: an absolute URL.
    ///   - method: the method.
    ///   - fields: the header fields. Without `Content-Type`, the type is `application/json`.
    ///   - value: the value to encode. The body is encoded once, in memory, and can be sent again.
    ///   - encoder: encodes the value.
    /// - Throws: `LoadError.Code.badURL` if the text is not an absolute URL; `LoadError.Code.badRequest` if the value
    ///   can't be encoded. The cause is the error of the encoder.
    public init(
        _ text: String, method: HTTPRequest.Method = .post, fields: HTTPFields = HTTPFields(), json value: some Encodable,
        encoder: JSONEncoder = JSONEncoder()
    ) throws(LoadError) {
        try self.init(text, method: method, fields: fields)
        try setJSON(value, encoder: encoder)
    }

    /// Sets the body to a value as JSON, and the field `Content-Type` if there is none. Does not change the method.
    ///
    /// - Throws: `LoadError.Code.badRequest` if the value can't be encoded.
    public mutating func setJSON(_ value: some Encodable, encoder: JSONEncoder = JSONEncoder()) throws(LoadError) {
        do {
            body = .data(try encoder.encode(value))
        } catch {
            throw LoadError(.badRequest, message: "the value can't be encoded as JSON", underlyingError: error)
        }
        if !fields.contains(.contentType) { fields[.contentType] = MIMEType.json.description }
    }
}
