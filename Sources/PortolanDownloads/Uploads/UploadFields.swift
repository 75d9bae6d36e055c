// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanURL
import RawStructuredFieldValues

/// The fields of a response about a resumable upload. Other values than those of the draft are ignored.
///
/// draft-ietf-httpbis-resumable-upload-12 §4.1
struct UploadFields: Equatable {
    /// The number of bytes that the server has processed.
    var offset: Int64?
    var isComplete: Bool?
    /// The number of bytes of the whole body, as the server knows it.
    var length: Int64?
    /// The largest number of bytes of one request.
    var maximumAppendSize: Int64?
    /// The largest number of bytes of the whole body.
    var maximumSize: Int64?

    init(_ fields: HTTPFields) {
        if case .integer(let offset)? = Self.item("Upload-Offset", fields), offset >= 0 { self.offset = offset }
        if case .bool(let isComplete)? = Self.item("Upload-Complete", fields) { self.isComplete = isComplete }
        if case .integer(let length)? = Self.item("Upload-Length", fields), length >= 0 { self.length = length }
        let limits = Self.limits(fields)
        (maximumAppendSize, maximumSize) = (limits["max-append-size"], limits["max-size"])
    }

    /// The largest number of octets of a field. Longer ones are ignored.
    private static let limit = 1024

    private static func octets(_ name: String, _ fields: HTTPFields) -> [UInt8]? {
        guard let name = HTTPField.Name(name), let value = fields[name], value.utf8.count <= limit else { return nil }
        return Array(value.utf8)
    }

    private static func item(_ name: String, _ fields: HTTPFields) -> RFC9651BareItem? {
        guard let octets = octets(name, fields) else { return nil }
        var parser = StructuredFieldValueParser(octets)
        // `try?` because a malformed field is ignored.
        return (try? parser.parseItemFieldValue())?.rfc9651BareItem
    }

    /// A limit of another type makes the whole field invalid (§4.1.4).
    private static func limits(_ fields: HTTPFields) -> [String: Int64] {
        guard let octets = octets("Upload-Limit", fields) else { return [:] }
        var parser = StructuredFieldValueParser(octets)
        // `try?` because a malformed field is ignored.
        guard let dictionary = try? parser.parseDictionaryFieldValue() else { return [:] }
        var limits: [String: Int64] = [:]
        for (name, member) in dictionary where ["max-append-size", "max-size"].contains(name) {
            guard case .item(let item) = member, case .integer(let value) = item.rfc9651BareItem, value > 0 else { return [:] }
            limits[name] = value
        }
        return limits
    }
}
