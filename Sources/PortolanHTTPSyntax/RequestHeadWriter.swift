// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
package import PortolanCore

/// Writes the head of a request as bytes: the request line, the fields in their order and the empty line.
///
/// The initialisers do not correct invalid input, but throw an error. So no control character in the method, the
/// target, a name or a value can inject another field or request.
///
///     let writer = try RequestHeadWriter(method: request.method, target: .originForm(of: request.url), fields: fields)
///     buffer.reserveCapacity(writer.byteCount) … writer.write(to: &output)
///
/// RFC 9112 §3, §5; RFC 9110 §5.5
package struct RequestHeadWriter {
    private let method: HTTPRequest.Method
    private let target: RequestTarget
    private let lines: [UInt8]
    /// The number of bytes that ``write(to:)`` appends.
    let byteCount: Int

    private let minorVersion: Int

    private static let version: StaticString = " HTTP/1.1\r\n"
    private static let version10: StaticString = " HTTP/1.0\r\n"

    /// - Throws: ``LoadError/Code/badRequest``, or ``LoadError/Code/badURL`` if the target is invalid.
    package init(method: HTTPRequest.Method, target: RequestTarget, fields: HTTPFields) throws(LoadError) {
        try self.init(method: method, target: target, lines: try Self.lines(of: fields))
    }

    /// - Parameters:
    ///   - lines: the result of ``lines(of:)`` for the fields.
    ///   - minorVersion: 0 for HTTP/1.0, 1 for HTTP/1.1.
    package init(
        method: HTTPRequest.Method, target: RequestTarget, lines: [UInt8], minorVersion: Int = 1
    ) throws(LoadError) {
        guard Self.isToken(method.rawValue.utf8.span) else {
            throw LoadError(.badRequest, message: "the method has a character that no method may have; use letters, as in GET")
        }
        guard target.isValid else {
            throw LoadError(
                .badURL, message: "the request target has a blank, control or other character that no URL may have; percent-encode it")
        }
        self.method = method
        self.target = target
        self.lines = lines
        self.minorVersion = minorVersion
        byteCount = method.rawValue.utf8.count + 1 + target.byteCount + Self.version.utf8CodeUnitCount + lines.count + 2
    }

    /// The bytes of the field lines.
    ///
    /// - Throws: ``LoadError/Code/badRequest``
    package static func lines(of fields: HTTPFields) throws(LoadError) -> [UInt8] {
        var count = 0
        for field in fields { count += try byteCount(of: field) }
        return [UInt8](capacity: count) { output in
            for field in fields {
                output.append(field.name.rawName.utf8.span)
                output.append(.colon)
                output.append(.space)
                unsafe field.withUnsafeBytesOfValue { unsafe output.append(contentsOf: UnsafeRawBufferPointer($0)) }
                output.appendLineEnd()
            }
        }
    }

    /// Appends the head to `output`, which must have room for ``byteCount`` bytes.
    func write(to output: inout OutputRawSpan) {
        output.append(method.rawValue.utf8.span)
        output.append(.space)
        target.write(to: &output)
        let version = minorVersion == 0 ? Self.version10 : Self.version
        unsafe output.append(contentsOf: UnsafeRawBufferPointer(start: version.utf8Start, count: version.utf8CodeUnitCount))
        output.append(lines.span)
        output.appendLineEnd()
    }

    /// The head as an array, for callers where speed does not matter.
    package func bytes() -> [UInt8] {
        [UInt8](capacity: byteCount) { output in write(to: &output) }
    }

    static func byteCount(of field: HTTPField) throws(LoadError) -> Int {
        let name = field.name.rawName
        guard isToken(name.utf8.span) else {
            throw LoadError(.badRequest, message: "a field name has a character that no name may have; use letters, digits and hyphens")
        }
        let valueCount = unsafe field.withUnsafeBytesOfValue { value in unsafe isFieldValue(value.span) ? value.count : nil }
        guard let valueCount else {
            throw LoadError(.badRequest, message: "the value of the field '\(name)' has a control character; remove or encode it")
        }
        return name.utf8.count + 2 + valueCount + 2
    }

    private static func isToken(_ octets: Span<UInt8>) -> Bool {
        for index in octets.indices where !octets[index].isTokenOctet { return false }
        return !octets.isEmpty
    }

    private static func isFieldValue(_ octets: Span<UInt8>) -> Bool {
        for index in octets.indices where !octets[index].isFieldOctet { return false }
        return true
    }
}

extension OutputRawSpan {
    @inline(__always)
    fileprivate mutating func appendLineEnd() {
        append(.carriageReturn)
        append(.lineFeed)
    }
}
