// SPDX-License-Identifier: Apache-2.0

package import PortolanCoding

/// The fields of a head that decide where the body ends: Content-Length, Transfer-Encoding and Connection. The parser
/// records them line by line.
///
/// An error is stored and not thrown, because the field may not matter. For example, a malformed Content-Length is no
/// error in a response without a body. ``BodyFraming`` decides.
package struct FramingFields: Sendable, Equatable {
    /// The value of Content-Length in bytes; `nil` if there is none. Valid only without a ``contentLengthFault``.
    package var contentLength: Int64?
    /// The number of digits of ``contentLength``, as received.
    private var lengthDigitCount = 0
    /// The error in Content-Length, if there is one.
    package var contentLengthFault: ResponseSyntaxError?
    var hasTransferEncoding = false
    var transferEncodingFault: ResponseSyntaxError?
    /// Whether chunked is the last coding. Then the chunks show where the body ends.
    var isChunked = false
    /// The transfer codings other than chunked, in the order in which they were applied.
    ///
    /// A correct server applies none if the client sends no TE (RFC 9112 §7.4). The body must be decoded in reverse
    /// order.
    package var transferCodings: [ContentCoding] = []
    /// Whether the head has `Connection: close`.
    package var closesConnection = false
    /// Whether the head has `Connection: keep-alive`.
    var keepsConnectionOpen = false
    /// Whether another recipient could read the head differently. The reason is a framing field that continues on the
    /// next line, a blank before a colon, or an empty Transfer-Encoding. The response is accepted, but its connection
    /// is not used again.
    var isSuspect = false

    /// The maximum number of transfer codings. No real server applies as many.
    private static let maximumTransferCodings = 16

    package init() {}

    /// Records the value of one field line. `value` has no blanks around it.
    package mutating func record(_ role: FramingRole, _ value: Span<UInt8>) {
        switch role {
        case .none: break
        case .contentLength: recordContentLength(value)
        case .transferEncoding: recordTransferEncoding(value)
        case .connection: recordConnection(value)
        }
    }

    // MARK: Content-Length

    /// Accepts a decimal number that fits in 63 bits. Accepts a list, or several lines, if all numbers are written the
    /// same (RFC 9112 §6.3, rule 5; Fetch, "extract a length").
    private mutating func recordContentLength(_ value: Span<UInt8>) {
        var start = 0
        while start <= value.count {
            var end = start
            while end < value.count, value[end] != .comma { end += 1 }
            let element = value.trimmed(start..<end)
            guard let length = Self.decimal(value, element) else { return recordContentLengthFault(.contentLength, value) }
            guard contentLength == nil || contentLength == length && lengthDigitCount == element.count else {
                return recordContentLengthFault(.contentLengthsDiffer, value)
            }
            (contentLength, lengthDigitCount) = (length, element.count)
            start = end + 1
        }
    }

    private mutating func recordContentLengthFault(_ rule: ResponseSyntaxError.Rule, _ value: Span<UInt8>) {
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

    private mutating func recordTransferEncoding(_ value: Span<UInt8>) {
        var elements = ListElements(of: value)
        var isEmpty = true
        // This client treats an empty list like a missing field. Another recipient can treat it differently.
        defer { isSuspect = isSuspect || isEmpty }
        while let range = elements.next(in: value) {
            (isEmpty, hasTransferEncoding) = (false, true)
            if let rule = recordCoding(value.extracting(range)) {
                transferEncodingFault = transferEncodingFault ?? ResponseSyntaxError(rule, value)
                return
            }
        }
    }

    /// - Returns: the rule that the coding breaks.
    private mutating func recordCoding(_ coding: Span<UInt8>) -> ResponseSyntaxError.Rule? {
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
        // RFC 2616 defined `identity` as no coding. Some servers still send it.
        if name.equalsIgnoringCase("identity") { return hasParameters ? .codingParameter : nil }
        guard let contentCoding = ContentCoding(name: name.latin1Text.lowercased()) else { return .unknownCoding }
        guard !hasParameters else { return .codingParameter }
        guard transferCodings.count < Self.maximumTransferCodings else { return .tooManyCodings }
        transferCodings.append(contentCoding)
        return nil
    }

    // MARK: Connection

    /// Ignores unknown and malformed options.
    private mutating func recordConnection(_ value: Span<UInt8>) {
        if recordOption(value) { return }
        var elements = ListElements(of: value)
        while let range = elements.next(in: value) {
            _ = recordOption(value.extracting(range))
        }
    }

    /// - Returns: whether the option is known.
    private mutating func recordOption(_ option: Span<UInt8>) -> Bool {
        switch option.count {
        case 5 where option.equalsIgnoringCase("close"): closesConnection = true
        case 10 where option.equalsIgnoringCase("keep-alive"): keepsConnectionOpen = true
        default: return false
        }
        return true
    }
}
