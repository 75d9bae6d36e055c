// SPDX-License-Identifier: Apache-2.0

package import PortolanCoding

/// What the fields of a head say about framing: Content-Length, Transfer-Encoding and Connection, noted line by line.
///
/// A fault is kept, not thrown, because it counts only where the field does: a malformed Content-Length of a response that has no body
/// anyway is none. ``BodyFraming`` decides.
package struct FramingFields: Sendable, Equatable {
    /// The one length that all Content-Length lines agree on.
    package var contentLength: Int64?
    private var lengthDigits = 0
    /// Why the lengths given are none.
    package var contentLengthFault: ResponseSyntaxError?
    var hasTransferEncoding = false
    var transferEncodingFault: ResponseSyntaxError?
    /// Whether chunked is the last coding, which makes it the framing.
    var isChunked = false
    /// The transfer codings beside chunked, in the order in which they were applied.
    ///
    /// A client that sends no TE gets none from a sound server (RFC 9112 §7.4). A body with any of them is not what the server means until
    /// they are undone, the last first.
    package var transferCodings: [ContentCoding] = []
    /// `Connection: close`.
    package var closes = false
    /// `Connection: keep-alive`.
    var keepsAlive = false
    /// A line that says it is written so that another recipient may read something else: continued on a next line, or with a blank before
    /// the colon. The response counts; its connection is not used again.
    var isSuspect = false

    /// More codings than anybody applies.
    private static let mostTransferCodings = 16

    package init() {}

    /// Takes the value of one field line, without blanks around it.
    package mutating func note(_ role: FramingRole, _ value: Span<UInt8>) {
        switch role {
        case .none: break
        case .contentLength: noteContentLength(value)
        case .transferEncoding: noteTransferEncoding(value)
        case .connection: noteConnection(value)
        }
    }

    // MARK: Content-Length

    /// A decimal number that fits 63 bits; several in a list, or in several lines, where all are written the same (RFC 9112 §6.3, rule 5; Fetch,
    /// "extract a length").
    private mutating func noteContentLength(_ value: Span<UInt8>) {
        var start = 0
        while start <= value.count {
            var end = start
            while end < value.count, value[end] != .comma { end += 1 }
            let element = value.trimmed(start..<end)
            guard let length = Self.decimal(value, element) else { return contentLengthIsFaulty(.contentLength, value) }
            guard contentLength == nil || contentLength == length && lengthDigits == element.count else {
                return contentLengthIsFaulty(.contentLengthsDiffer, value)
            }
            (contentLength, lengthDigits) = (length, element.count)
            start = end + 1
        }
    }

    private mutating func contentLengthIsFaulty(_ rule: ResponseSyntaxError.Rule, _ value: Span<UInt8>) {
        if contentLengthFault == nil { contentLengthFault = ResponseSyntaxError(rule, value) }
    }

    private static func decimal(_ octets: Span<UInt8>, _ range: Range<Int>) -> Int64? {
        if range.isEmpty { return nil }
        var number: Int64 = 0
        for index in range {
            guard octets[index].isDecimalDigit else { return nil }
            let (tens, tensOverflow) = number.multipliedReportingOverflow(by: 10)
            let (sum, sumOverflow) = tens.addingReportingOverflow(Int64(octets[index] &- 0x30))
            guard !tensOverflow, !sumOverflow else { return nil }
            number = sum
        }
        return number
    }

    // MARK: Transfer-Encoding

    private mutating func noteTransferEncoding(_ value: Span<UInt8>) {
        var elements = ListElements(of: value)
        var isEmpty = true
        // An empty list is as if it were not there: to us, and perhaps not to another recipient.
        defer { isSuspect = isSuspect || isEmpty }
        while let range = elements.next(in: value) {
            (isEmpty, hasTransferEncoding) = (false, true)
            if let rule = noteCoding(value.extracting(range)) {
                transferEncodingFault = transferEncodingFault ?? ResponseSyntaxError(rule, value)
                return
            }
        }
    }

    /// - Returns: the rule that the coding breaks.
    private mutating func noteCoding(_ coding: Span<UInt8>) -> ResponseSyntaxError.Rule? {
        var end = 0
        while end < coding.count, coding[end].isTokenOctet { end += 1 }
        let hasParameters = end < coding.count
        guard end > 0, !hasParameters || Parameters.areValid(coding.extracting(end...)) else { return .transferEncoding }
        let name = coding.extracting(..<end)
        if name.equalsIgnoringCase("chunked") {
            guard !isChunked else { return .chunkedTwice }
            isChunked = true
            return hasParameters ? .codingParameter : nil
        }
        guard !isChunked else { return .chunkedNotLast }
        // RFC 2616 had it, for none; servers still send it.
        if name.equalsIgnoringCase("identity") { return hasParameters ? .codingParameter : nil }
        guard let known = ContentCoding(name: name.latin1Text.lowercased()) else { return .unknownCoding }
        guard !hasParameters else { return .codingParameter }
        guard transferCodings.count < Self.mostTransferCodings else { return .transferEncoding }
        transferCodings.append(known)
        return nil
    }

    // MARK: Connection

    /// Options that are not known say nothing, malformed ones neither.
    private mutating func noteConnection(_ value: Span<UInt8>) {
        if takeOption(value) { return }
        var elements = ListElements(of: value)
        while let range = elements.next(in: value) {
            _ = takeOption(value.extracting(range))
        }
    }

    /// - Returns: whether it is one that is known.
    private mutating func takeOption(_ option: Span<UInt8>) -> Bool {
        switch option.count {
        case 5 where option.equalsIgnoringCase("close"): closes = true
        case 10 where option.equalsIgnoringCase("keep-alive"): keepsAlive = true
        default: return false
        }
        return true
    }
}
