// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanHTTPSyntax

/// The fields of one HEADERS frame: a response's head, or trailers. Each field is checked when it arrives.
///
/// After the first error no more fields are stored. nghttp2 still decodes them, so that HPACK stays in sync.
///
/// RFC 9113 §8.2, §8.3.2
struct HTTP2FieldSection {
    /// The status of a head; `nil` in trailers.
    private(set) var status: Int?
    private(set) var fields = HTTPFields()
    private(set) var framing = FramingFields()
    /// The size of the fields in bytes, as in an HTTP/1.1 message without its status line.
    private(set) var byteCount = 0

    private let isHead: Bool
    private let maximumLineLength: Int
    private let maximumFieldCount: Int
    private let maximumByteCount: Int
    private var fault: HTTP2ResponseError?
    private let names = FieldNameTable.common

    /// Makes a section for the head of a response, interim or final.
    init(headWithin limits: HTTPLimits) {
        self.init(limits, isHead: true)
        fields.reserveCapacity(min(maximumFieldCount, 16))
    }

    init(trailersWithin limits: HTTPLimits) { self.init(limits, isHead: false) }

    private init(_ limits: HTTPLimits, isHead: Bool) {
        self.isHead = isHead
        maximumLineLength = limits.maximumFieldLineBytes
        maximumFieldCount = min(limits.maximumFieldCount, 60_000)  // HTTPFields traps at 65,535
        maximumByteCount = isHead ? limits.maximumFieldSectionBytes : limits.maximumTrailerSectionBytes
    }

    /// Adds a field. Name and value can contain any bytes.
    mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        guard fault == nil else { return }
        do throws(HTTP2ResponseError) {
            if !name.isEmpty, name[0] == .colon { try addPseudoField(name, value) } else { try addField(name, value) }
        } catch {
            fault = error
        }
    }

    /// Checks the complete section.
    ///
    /// - Throws: the first error of the section.
    func end() throws(HTTP2ResponseError) {
        if let fault { throw fault }
        guard isHead else { return }
        guard let status else { throw HTTP2ResponseError(.noStatus) }
        guard status != 101 else { throw HTTP2ResponseError(.unrequestedUpgrade) }
    }

    private mutating func addPseudoField(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTP2ResponseError) {
        guard isHead else { throw HTTP2ResponseError(.pseudoFieldInTrailers, name) }
        guard name.equalsIgnoringCase(":status"), name.isLowercased else { throw HTTP2ResponseError(.unknownPseudoField, name) }
        guard fields.isEmpty else { throw HTTP2ResponseError(.latePseudoField, name) }
        guard status == nil else { throw HTTP2ResponseError(.repeatedPseudoField, name) }
        guard value.count == 3 else { throw HTTP2ResponseError(.status, value) }
        var number = 0
        for index in value.indices {
            guard value[index].isDecimalDigit else { throw HTTP2ResponseError(.status, value) }
            number = number * 10 + Int(value[index] &- 0x30)
        }
        guard number >= 100 else { throw HTTP2ResponseError(.status, value) }
        status = number
    }

    private mutating func addField(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(HTTP2ResponseError) {
        let count = name.count + value.count + 4
        guard count - 2 <= maximumLineLength else { throw HTTP2ResponseError(.fieldLineTooLong, name) }
        guard byteCount + count <= maximumByteCount else {
            throw HTTP2ResponseError(isHead ? .fieldSectionTooLarge : .trailerSectionTooLarge)
        }
        guard fields.count < maximumFieldCount else { throw HTTP2ResponseError(.tooManyFields) }
        byteCount += count
        let (fieldName, role) = try self.name(name)
        guard !Self.isConnectionField(fieldName.canonicalName) else { throw HTTP2ResponseError(.connectionField, name) }
        fields.append(try Self.field(fieldName, value))
        if role == .contentLength { framing.record(role, value) }
    }

    private func name(_ octets: Span<UInt8>) throws(HTTP2ResponseError) -> (HTTPField.Name, FramingRole) {
        guard octets.isLowercased else { throw HTTP2ResponseError(.fieldName, octets) }
        if let common = names.find(octets) { return common }
        for index in octets.indices where !octets[index].isTokenOctet { throw HTTP2ResponseError(.fieldName, octets) }
        guard let name = HTTPField.Name(octets.latin1Text) else { throw HTTP2ResponseError(.fieldName, octets) }
        return (name, FramingRole(of: name))
    }

    /// Visible ASCII and spaces are stored as text, which is fast. Any other value is stored as bytes, as over
    /// HTTP/1.1.
    private static func field(_ name: HTTPField.Name, _ value: Span<UInt8>) throws(HTTP2ResponseError) -> HTTPField {
        guard !value.isEmpty else { return HTTPField(name: name, value: "") }
        guard !value[0].isBlank, !value[value.count - 1].isBlank else { throw HTTP2ResponseError(.fieldValue, value) }
        var isText = true
        for index in value.indices where !(0x20..<0x7F).contains(value[index]) {
            let octet = value[index]
            guard octet != 0, octet != .carriageReturn, octet != .lineFeed else { throw HTTP2ResponseError(.fieldValue, value) }
            isText = false
        }
        guard !isText else { return HTTPField(name: name, value: value.utf8Text) }
        return unsafe value.withUnsafeBufferPointer { unsafe HTTPField(name: name, lenientValue: $0) }
    }

    private static func isConnectionField(_ name: String) -> Bool {
        switch name {
        case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade": true
        default: false
        }
    }
}

extension Span<UInt8> {
    fileprivate var isLowercased: Bool {
        for index in indices where self[index].lowercased != self[index] { return false }
        return true
    }
}
