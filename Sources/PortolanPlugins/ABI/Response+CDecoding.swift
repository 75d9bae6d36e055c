// SPDX-License-Identifier: Apache-2.0

package import CPortolan
import HTTPTypes
import PortolanCore

extension portolan_response {
    /// The length of the body; `nil` if it is unknown.
    package var knownLength: Int64? {
        unsafe expected_length > 0 || (expected_length == 0 && has_length != 0) ? expected_length : nil
    }
}

extension Response {
    /// Decodes a response from a plugin.
    ///
    /// - Throws: DESC-05, BODY-02, BODY-09, BODY-11, SEC-08 or ORDER-13.
    init(reading pointer: UnsafePointer<portolan_response>?, for request: Request, isInterim: Bool) throws(ContractViolation) {
        self = try unsafe Response(portolan_response.read(pointer), for: request, isInterim: isInterim)
    }

    init(_ response: portolan_response, for request: Request, isInterim: Bool) throws(ContractViolation) {
        guard unsafe response.expected_length >= -1 else {
            throw ContractViolation(
                .lengthIsKept, unsafe "the expected length is \(response.expected_length); give the number of bytes, or -1 for unknown")
        }
        try unsafe self.init(
            url: Self.url(of: response, for: request),
            mimeType: Self.mimeType(of: response),
            textEncodingName: Self.charset(of: response),
            expectedLength: response.knownLength,
            suggestedFilename: response.suggested_name.isPresent ? response.suggested_name.repairedText : nil,
            status: Self.status(of: response, isInterim: isInterim),
            fields: HTTPFields(reading: response.fields, count: response.field_count))
    }

    private static func url(of response: portolan_response, for request: Request) throws(ContractViolation) -> URLRecord {
        guard unsafe response.url.isPresent else { return request.url }
        return try unsafe URLRecord(reading: response.url, "a response's URL", breaking: .responseURLParses)
    }

    private static func mimeType(of response: portolan_response) throws(ContractViolation) -> MIMEType? {
        guard unsafe response.mime_type.isPresent else { return nil }
        guard let text = unsafe response.mime_type.text, let type = MIMEType(parsing: text), type.parameters.isEmpty,
            type.essence.utf8.count == text.utf8.count
        else {
            throw ContractViolation(
                .mediaTypeIsWellFormed, "the MIME type is not of the form type/subtype; remove white space and parameters")
        }
        return type
    }

    private static func charset(of response: portolan_response) throws(ContractViolation) -> String? {
        guard unsafe response.text_encoding.isPresent else { return nil }
        guard let text = unsafe response.text_encoding.text, Text.isToken(text) else {
            throw ContractViolation(.mediaTypeIsWellFormed, "the charset is not a token; write one like utf-8, or leave it out")
        }
        return text
    }

    private static func status(of response: portolan_response, isInterim: Bool) throws(ContractViolation) -> HTTPResponse.Status? {
        let code = unsafe Int(response.status)
        guard code != 0 || isInterim else { return nil }
        guard isInterim ? (100...199).contains(code) : (200...999).contains(code) else {
            throw ContractViolation(
                .headBeforeBodyBeforeTrailers,
                isInterim
                    ? "an interim response has the status \(code), not 100 to 199"
                    : "the response has the status \(code); give 200 to 999, or 0 for none")
        }
        return HTTPResponse.Status(code: code)
    }
}

extension CacheStoragePolicy {
    /// - Throws: CACHE-01.
    init(_ storage: portolan_storage) throws(ContractViolation) {
        switch storage {
        case PORTOLAN_STORE_NOT: self = .notAllowed
        case PORTOLAN_STORE_IN_MEMORY: self = .allowedInMemoryOnly
        case PORTOLAN_STORE: self = .allowed
        default:
            throw ContractViolation(
                .storageIsPublished, "the storage policy is \(storage.rawValue), which is not one of the published values")
        }
    }
}

extension URLRecord {
    /// - Throws: a violation of `rule` if the text is not an absolute URL.
    init(reading string: portolan_string, _ subject: String, breaking rule: ContractRule = .redirectParses) throws(ContractViolation) {
        guard let text = unsafe string.text else { throw ContractViolation(rule, "\(subject) is absent or not UTF-8") }
        do throws(URLSyntaxError) {
            self = try URLRecord(parsing: text)
        } catch {
            throw ContractViolation(rule, "\(subject) does not parse: \(error)")
        }
    }
}

extension HTTPFields {
    /// - Throws: DESC-05 or SEC-08.
    init(reading start: UnsafePointer<portolan_field>?, count: Int) throws(ContractViolation) {
        self.init()
        let elements = try unsafe UnsafeBufferPointer(start: start, counted: count, "fields")
        try Self.checkCount(elements.count)
        try unsafe elements.forEachElement { field throws(ContractViolation) in
            append(try unsafe HTTPField(name: HTTPField.Name(reading: field.name), reading: field.value))
        }
    }
}

extension HTTPFields {
    /// The maximum number of fields. A search for a name compares all names, which takes too long with more fields.
    private static let countLimit = 1024

    /// - Throws: SEC-08 if there are more fields than are allowed.
    static func checkCount(_ count: Int) throws(ContractViolation) {
        guard count <= countLimit else {
            throw ContractViolation(.fieldsAreWellFormed, "\(count) fields were given; at most \(countLimit) are allowed")
        }
    }
}

extension HTTPField {
    /// - Throws: SEC-08 if the value is malformed (RFC 9110 §5.5).
    init(name: Name, reading value: portolan_string) throws(ContractViolation) {
        let bytes = unsafe try value.copyBytes("the value of the field '\(name)'")
        guard Self.isValidValue(bytes) else {
            throw ContractViolation(.fieldsAreWellFormed, "the value of the field '\(name)' has CR, LF, NUL or another control character")
        }
        self.init(name: name, value: bytes)
    }
}

extension HTTPField.Name {
    /// - Throws: SEC-08.
    init(reading string: portolan_string) throws(ContractViolation) {
        guard let text = unsafe string.text, let name = Self(text) else {
            throw ContractViolation(
                .fieldsAreWellFormed, "the name of a field is not a token: '\(unsafe Text.oneLine(string.repairedText, limit: 80))'")
        }
        self = name
    }
}
