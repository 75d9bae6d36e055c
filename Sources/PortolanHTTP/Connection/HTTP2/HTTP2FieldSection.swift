// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import NIOHPACK

/// The fields of one HEADERS frame, checked: those of a response's head, or trailers.
///
/// What HPACK gives is text already: bytes of a value that are no UTF-8 came as U+FFFD.
///
/// RFC 9113 §8.2, §8.3.2
struct HTTP2FieldSection {
    /// Of a head; `nil` in trailers.
    private(set) var status: Int?
    private(set) var fields = HTTPFields()
    private(set) var framing = FramingFields()
    /// Of the fields as text, as an HTTP/1.1 message would have them, without the status line.
    private(set) var byteCount = 0

    private let longestLine: Int
    private let mostFields: Int
    private let mostBytes: Int
    private let sectionRule: HTTP2ResponseError.Rule

    /// Of a response, final or not.
    init(head block: HPACKHeaders, limits: HTTPLimits) throws(HTTP2ResponseError) {
        self.init(limits, section: limits.fieldSection, rule: .fieldSectionTooLarge)
        fields.reserveCapacity(min(block.count, mostFields))
        for (name, value, _) in block {
            if name.utf8.first == .colon {
                try takePseudoField(name, value)
            } else {
                try take(name, value)
            }
        }
        guard let status else { throw HTTP2ResponseError(.noStatus) }
        guard status != 101 else { throw HTTP2ResponseError(.unrequestedUpgrade) }
    }

    init(trailers block: HPACKHeaders, limits: HTTPLimits) throws(HTTP2ResponseError) {
        self.init(limits, section: limits.trailerSection, rule: .trailerSectionTooLarge)
        for (name, value, _) in block {
            guard name.utf8.first != .colon else { throw HTTP2ResponseError(.pseudoFieldInTrailers, name) }
            try take(name, value)
        }
    }

    private init(_ limits: HTTPLimits, section: Int, rule: HTTP2ResponseError.Rule) {
        longestLine = limits.fieldLine
        mostFields = min(limits.fieldCount, 60_000)  // HTTPFields traps at 65,535
        mostBytes = section
        sectionRule = rule
    }

    private mutating func takePseudoField(_ name: String, _ value: String) throws(HTTP2ResponseError) {
        guard name == ":status" else { throw HTTP2ResponseError(.unknownPseudoField, name) }
        guard fields.isEmpty else { throw HTTP2ResponseError(.latePseudoField, name) }
        guard status == nil else { throw HTTP2ResponseError(.repeatedPseudoField, name) }
        var number = 0
        for digit in value.utf8 {
            guard digit.isDecimalDigit, number < 100 else { throw HTTP2ResponseError(.status, value) }
            number = number * 10 + Int(digit &- 0x30)
        }
        guard value.utf8.count == 3, number >= 100 else { throw HTTP2ResponseError(.status, value) }
        status = number
    }

    private mutating func take(_ name: String, _ value: String) throws(HTTP2ResponseError) {
        let count = name.utf8.count + value.utf8.count + 4
        guard count - 2 <= longestLine else { throw HTTP2ResponseError(.fieldLineTooLong, name) }
        guard byteCount + count <= mostBytes else { throw HTTP2ResponseError(sectionRule) }
        guard fields.count < mostFields else { throw HTTP2ResponseError(.tooManyFields) }
        byteCount += count
        guard let fieldName = HTTPField.Name(parsed: name) else { throw HTTP2ResponseError(.fieldName, name) }
        guard !Self.isOfConnection(name) else { throw HTTP2ResponseError(.connectionField, name) }
        fields.append(try Self.field(fieldName, value))
        if name == "content-length" { framing.note(.contentLength, value.utf8.span) }
    }

    private static func field(_ name: HTTPField.Name, _ value: String) throws(HTTP2ResponseError) -> HTTPField {
        let octets = value.utf8.span
        guard !octets.isEmpty else { return HTTPField(name: name, value: value) }
        var holdsControls = false
        for index in octets.indices where !octets[index].isFieldOctet {
            let octet = octets[index]
            guard octet != 0, octet != .carriageReturn, octet != .lineFeed else { throw HTTP2ResponseError(.fieldValue, value) }
            holdsControls = true
        }
        guard !octets[0].isBlank, !octets[octets.count - 1].isBlank else { throw HTTP2ResponseError(.fieldValue, value) }
        return holdsControls ? HTTPField(name: name, lenientValue: value.utf8) : HTTPField(name: name, value: value)
    }

    private static func isOfConnection(_ name: String) -> Bool {
        switch name {
        case "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade": true
        default: false
        }
    }
}
