// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import PortolanCore

/// A form with the encoding `multipart/form-data`: parts of text, files, and other bodies, in order.
///
///     var form = MultipartForm()
///     form.append("title", "Chart of the coast")
///     try form.append("chart", file: "/srv/chart.png", contentType: MIMEType(parsing: "image/png"))
///     let request = try Request("https://example.org/charts", form: form)
///
/// The bytes of a part are read while they are sent, so a large file does not occupy memory. If the length of each part
/// is known, so is the length of ``body``. If each part can be read again, ``body`` can be sent again, after a redirect
/// or a challenge. The body of a `BodyWriter` and most streams can be read only once.
///
/// In the names of fields and files, `"`, CR and LF are percent-encoded, as browsers do; other characters are sent as
/// UTF-8. In the name of a field, each line break becomes CRLF first.
///
/// RFC 7578; HTML, "multipart/form-data encoding algorithm"
public struct MultipartForm: Sendable {
    /// The text between the parts: 24 hyphens and 16 random letters and digits. Copies of a form have the same
    /// boundary.
    public let boundary: String
    /// The bytes of the parts that are in memory and come after the last body of `bodies`.
    private var pendingBytes: [UInt8] = []
    /// The bytes before ``pendingBytes``, as bodies in order.
    private var bodies: [Body] = []

    /// Makes a form without parts.
    public init() {
        self.init(boundary: Self.randomBoundary())
    }

    /// - Parameter boundary: 1 to 70 letters, digits or hyphens, which do not occur in the parts (RFC 2046 §5.1.1).
    package init(boundary: String) {
        self.boundary = boundary
    }

    /// The value of the field `Content-Type` of a request that submits the form.
    public var contentType: String { "multipart/form-data; boundary=\(boundary)" }

    /// The body of a request that submits the form. Later changes of the form do not affect it.
    public var body: Body {
        .joining(bodies + [.bytes(pendingBytes + Array("--\(boundary)--\r\n".utf8))])
    }

    /// Appends a text, in UTF-8. The text is sent unchanged, including its line breaks.
    public mutating func append(_ name: String, _ text: String) {
        appendHead(.formData, name, filename: nil, contentType: nil, fields: [:])
        pendingBytes += Array(text.utf8)
        endPart()
    }

    /// Appends a file, which is read while the form is sent.
    ///
    /// The length of the part is the length of the file at the time of this call (`Body.file(path:)`).
    ///
    /// - Parameters:
    ///   - name: the name of the field.
    ///   - path: the path of a regular file.
    ///   - filename: the name that the server receives; by default, the last component of the path.
    ///   - contentType: the type of the file; `application/octet-stream` if it is `nil`.
    /// - Throws: `LoadError.Code.notFound`, `LoadError.Code.accessDenied`, `LoadError.Code.isDirectory` or
    ///   another code that states why the file can't be read.
    public mutating func append(
        _ name: String, file path: String, filename: String? = nil, contentType: MIMEType? = nil
    ) throws(LoadError) {
        let body = try Body.file(path: path)
        let lastComponent = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[path.utf8.index(after: $0)...]) } ?? path
        append(name, body: body, filename: filename ?? lastComponent, contentType: contentType ?? .octetStream)
    }

    /// Appends a body, such as bytes in memory or a stream.
    ///
    /// - Parameters:
    ///   - name: the name of the field.
    ///   - body: the bytes of the part.
    ///   - filename: the name of the file that the part represents; `nil` if it represents none.
    ///   - contentType: the type of the part; `nil` for a part without a field `Content-Type`.
    ///   - fields: further header fields of the part. Most servers ignore them (RFC 7578 §4.8). `Content-Disposition`
    ///     and, if `contentType` is not `nil`, `Content-Type` are left out.
    public mutating func append(
        _ name: String, body: Body, filename: String? = nil, contentType: MIMEType? = nil, fields: HTTPFields = [:]
    ) {
        appendHead(.formData, name, filename: filename, contentType: contentType, fields: fields)
        append(body)
    }

    /// How a part is presented. RFC 2183 §2
    package enum Disposition: String, Sendable {
        case formData = "form-data"
        case attachment
    }

    /// Appends a part of any multipart body.
    ///
    /// - Parameters:
    ///   - disposition: `nil` if the part has no field `Content-Disposition`, or if `fields` contains one.
    ///   - name: `nil` for a part without a name.
    ///   - fields: the other fields of the part.
    package mutating func append(_ disposition: Disposition?, name: String?, filename: String?, fields: HTTPFields, body: Body) {
        appendHead(disposition, name, filename: filename, contentType: nil, fields: fields)
        append(body)
    }

    private mutating func append(_ body: Body) {
        bodies.append(.bytes(pendingBytes))
        bodies.append(body)
        pendingBytes = []
        endPart()
    }

    private mutating func appendHead(
        _ disposition: Disposition?, _ name: String?, filename: String?, contentType: MIMEType?, fields: HTTPFields
    ) {
        pendingBytes += Array("--\(boundary)\r\n".utf8)
        if let disposition {
            pendingBytes += Array("Content-Disposition: \(disposition.rawValue)".utf8)
            if let name { pendingBytes += Array("; name=\"".utf8) + Self.escaped(name, normalizesLineBreaks: true) + [UInt8(ascii: "\"")] }
            if let filename {
                pendingBytes += Array("; filename=\"".utf8) + Self.escaped(filename, normalizesLineBreaks: false) + [UInt8(ascii: "\"")]
            }
            pendingBytes += Array("\r\n".utf8)
        }
        if let contentType { pendingBytes += Array("Content-Type: \(contentType)\r\n".utf8) }
        for field in fields {
            if field.name == .contentDisposition && disposition != nil || field.name == .contentType && contentType != nil { continue }
            pendingBytes += Array("\(field.name.rawName): ".utf8)
            unsafe field.withUnsafeBytesOfValue { value in unsafe pendingBytes += Array(value) }
            pendingBytes += Array("\r\n".utf8)
        }
        pendingBytes += Array("\r\n".utf8)
    }

    private mutating func endPart() { pendingBytes += Array("\r\n".utf8) }

    /// Percent-encodes the bytes that would end the parameter or the line of the field.
    ///
    /// - Parameter normalizesLineBreaks: whether a CR or LF that stands alone becomes CRLF.
    private static func escaped(_ text: String, normalizesLineBreaks: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        var previous: UInt8?
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes += Array("%22".utf8)
            case UInt8(ascii: "\r"): bytes += Array((normalizesLineBreaks ? "%0D%0A" : "%0D").utf8)
            // The CR before this LF has become CRLF.
            case UInt8(ascii: "\n") where normalizesLineBreaks && previous == UInt8(ascii: "\r"): break
            case UInt8(ascii: "\n"): bytes += Array((normalizesLineBreaks ? "%0D%0A" : "%0A").utf8)
            default: bytes.append(byte)
            }
            previous = byte
        }
        return bytes
    }

    /// Makes a boundary with 82 random bits of the system, so that no part contains it.
    private static func randomBoundary() -> String {
        let characters = Array("0123456789abcdefghijklmnopqrstuvwxyz")
        return String(repeating: "-", count: 24) + String((0..<16).map { _ in characters[Int.random(in: 0..<characters.count)] })
    }
}
