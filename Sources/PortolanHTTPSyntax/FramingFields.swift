// SPDX-License-Identifier: Apache-2.0

package import PortolanCoding

/// The framing information in the fields of a head: Content-Length, Transfer-Encoding and Connection. Collected line by
/// line.
///
/// An error is stored and not thrown, because it counts only where the field does. A malformed Content-Length is no
/// error in a response that has no body. ``BodyFraming`` decides.
package struct FramingFields: Sendable, Equatable {
    /// The length on which all Content-Length lines agree.
    package var contentLength: Int64?
    private var lengthDigits = 0
    /// The error in Content-Length, if there is one.
    package var contentLengthFault: ResponseSyntaxError?
    var hasTransferEncoding = false
    var transferEncodingFault: ResponseSyntaxError?
    /// Whether chunked is the last coding and so delimits the body.
    var isChunked = false
    /// The transfer codings other than chunked, in the order in which they were applied.
    ///
    /// A correct server sends none to a client that sends no TE (RFC 9112 §7.4). A body has its intended content only
    /// after they are undone, the last one first.
    package var transferCodings: [ContentCoding] = []
    /// `Connection: close`.
    package var closes = false
    /// `Connection: keep-alive`.
    var keepsAlive = false
    /// Whether another recipient may read a line differently: a line that continues on the next line, a blank before
    /// the colon, or an empty Transfer-Encoding. The response is accepted, but its connection is not used again.
    var isSuspect = false

    /// More codings than any server applies.
    private static let mostTransferCodings = 16

    package init() {}

    /// Records the value of one field line, given without surrounding blanks.
    package mutating func note(_ role: FramingRole, _ value: Span<UInt8>) {
        switch role {
        case .none: break
        case .contentLength: noteContentLength(value)
        case .transferEncoding: noteTransferEncoding(value)
        case .connection: noteConnection(value)
        }
    }

    // MARK: Content-Length

    /// Accepts a decimal number that fits in 63 bits. A list, or several lines, are accepted if all numbers are written
    /// the same (RFC 9112 §6.3, rule 5; Fetch, "extract a length").
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
        // For this client an empty list is the same as no field. Another recipient may disagree.
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
        // RFC 2616 defined it as no coding; servers still send it.
        if name.equalsIgnoringCase("identity") { return hasParameters ? .codingParameter : nil }
        guard let known = ContentCoding(name: name.latin1Text.lowercased()) else { return .unknownCoding }
        guard !hasParameters else { return .codingParameter }
        guard transferCodings.count < Self.mostTransferCodings else { return .transferEncoding }
        transferCodings.append(known)
        return nil
    }

    // MARK: Connection

    /// Ignores unknown and malformed options.
    private mutating func noteConnection(_ value: Span<UInt8>) {
        if takeOption(value) { return }
        var elements = ListElements(of: value)
        while let range = elements.next(in: value) {
            _ = takeOption(value.extracting(range))
        }
    }

    /// - Returns: whether the option is known.
    private mutating func takeOption(_ option: Span<UInt8>) -> Bool {
        switch option.count {
        case 5 where option.equalsIgnoringCase("close"): closes = true
        case 10 where option.equalsIgnoringCase("keep-alive"): keepsAlive = true
        default: return false
        }
        return true
    }
}
