// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore
package import PortolanJSON

/// Header fields as programs see them: pairs of a lower-case name, and a value whose bytes are shown as ISO-8859-1.
/// Repeated fields stay separate.
package struct FieldList: Equatable, Sendable {
    package typealias Pair = (name: String, value: String)
    package private(set) var pairs: [Pair] = []

    package init(_ fields: HTTPFields) {
        pairs = fields.map { ($0.name.canonicalName, Self.text(of: $0)) }
    }

    /// Makes the list of a response's fields. `content-type` is its serialised MIME type, with the charset that the
    /// handler knows from another source.
    package init(of response: Response) {
        self.init(response.fields)
        guard let type = response.mimeType else { return }
        let name = HTTPField.Name.contentType.canonicalName
        let index = pairs.firstIndex { $0.name == name } ?? 0
        pairs.removeAll { $0.name == name }
        pairs.insert((name, type.declaring(charset: response.textEncodingName).description), at: index)
    }

    /// Adds the expected length as `content-length`, unless the field exists or the scheme is `http` or `https`: there,
    /// a missing Content-Length in a 204 or 304 has a meaning (RFC 9110 §8.6).
    package mutating func addLength(of response: Response) {
        guard response.url.scheme != "http", response.url.scheme != "https" else { return }
        guard let length = response.expectedLength, !contains(.contentLength) else { return }
        pairs.append((HTTPField.Name.contentLength.canonicalName, String(length)))
    }

    package func contains(_ name: HTTPField.Name) -> Bool {
        pairs.contains { $0.name == name.canonicalName }
    }

    package var json: JSONValue {
        .array(pairs.map { [.string($0.name), .string($0.value)] })
    }

    package static func == (a: Self, b: Self) -> Bool {
        a.pairs.elementsEqual(b.pairs) { $0 == $1 }
    }

    private static func text(of field: HTTPField) -> String {
        var text = ""
        unsafe field.withUnsafeBytesOfValue { bytes in
            unsafe text.unicodeScalars.append(contentsOf: bytes.lazy.map { Unicode.Scalar($0) })
        }
        return text
    }
}

extension MIMEType {
    /// The type with this charset, unless it names one or `charset` is `nil`.
    fileprivate func declaring(charset: String?) -> MIMEType {
        guard let charset, self.charset == nil else { return self }
        // Parsing leaves out a charset that is no valid parameter value.
        return MIMEType(parsing: "\(self);charset=\(charset)") ?? self
    }
}

extension HTTPField {
    /// Makes a field from a value that was decoded as ISO-8859-1: each code point is one byte.
    ///
    /// - Returns: `nil` if a code point lies beyond U+00FF, or the bytes are no field value (RFC 9110 §5.5).
    package init?(name: Name, latin1 value: String) {
        var bytes: [UInt8] = []
        for scalar in value.unicodeScalars {
            guard let byte = UInt8(exactly: scalar.value) else { return nil }
            bytes.append(byte)
        }
        guard HTTPField.isValidValue(bytes) else { return nil }
        self.init(name: name, value: bytes)
    }
}

extension HTTPFields {
    /// Why a recorded field is rejected, as a clause of a message.
    enum InvalidField: String, Error {
        case isInvalid = "is not a valid HTTP field"
        case exceedsLimit = "is one of more than 10000 fields"
    }

    /// The maximum number of fields of one message in a recording; `HTTPFields` can hold 65,534.
    private static let maximumCount = 10_000

    /// Adds a recorded field. Ignores a name that begins with a colon, because it is no field (RFC 9113 §8.3). A value
    /// with line breaks becomes several fields, because browsers write repeated Set-Cookie fields in this way.
    /// White space around a value is removed (RFC 9110 §5.5).
    mutating func append(recorded name: String, _ value: String) throws(InvalidField) {
        if name.hasPrefix(":") { return }
        guard let name = HTTPField.Name(name) else { throw .isInvalid }
        for line in value.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false) {
            let text = String(Substring(line).trimmingSpace)
            let utf8 = Array(text.utf8)
            guard
                let field = HTTPField(name: name, latin1: text)
                    ?? (HTTPField.isValidValue(utf8) ? HTTPField(name: name, value: utf8) : nil)
            else { throw .isInvalid }
            guard count < Self.maximumCount else { throw .exceedsLimit }
            append(field)
        }
    }
}

extension Substring {
    /// The text without white space and carriage returns at its ends.
    fileprivate var trimmingSpace: Substring {
        func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar == " " || scalar == "\t" || scalar == "\r" }
        var scalars = unicodeScalars
        while let first = scalars.first, isSpace(first) { scalars.removeFirst() }
        while let last = scalars.last, isSpace(last) { scalars.removeLast() }
        return Substring(scalars)
    }
}
