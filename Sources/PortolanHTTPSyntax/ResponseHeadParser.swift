// SPDX-License-Identifier: Apache-2.0

/// Parses the heads of responses. The input comes in pieces of any size.
///
/// The parser copies only lines that span several pieces. It throws an error only when the invalid line is complete, so
/// the error does not depend on how the input is split. There are two exceptions: a line that exceeds its limit, and an
/// input that does not start with `HTTP/`, fail immediately.
///
/// RFC 9112 §2, §4, §5
package struct ResponseHeadParser: Sendable {
    private var statusLine: StatusLine?
    private var lines = LineReader()
    private var section: FieldSectionParser
    private let limits: HTTPLimits

    package init(limits: HTTPLimits) {
        self.limits = limits
        section = FieldSectionParser(headWithin: limits)
    }

    /// Whether no byte of the head has arrived yet.
    package var isAtStart: Bool { statusLine == nil && !lines.isWithinLine }

    /// The error if the connection ends now.
    package var errorAtEnd: ResponseSyntaxError { ResponseSyntaxError(isAtStart ? .noResponse : .cutInHead) }

    /// Consumes bytes of `input` from `offset` on. Returns the head when it is complete. Then `offset` is after the
    /// last byte of the head. Returns `nil` if all input was consumed and the head is incomplete.
    ///
    /// After a head the parser is ready for the next one. After an error, do not use the parser.
    ///
    /// - Complexity: linear in the number of consumed bytes.
    package mutating func parse(
        _ input: borrowing RawSpan, from offset: inout Int
    ) throws(ResponseSyntaxError) -> ResponseHead? {
        try input.withOctets { (octets) throws(ResponseSyntaxError) in try parse(octets, from: &offset) }
    }

    private mutating func parse(_ input: Span<UInt8>, from offset: inout Int) throws(ResponseSyntaxError) -> ResponseHead? {
        if statusLine == nil { statusLine = try nextStatusLine(input, from: &offset) }
        guard let line = statusLine, try section.parse(input, from: &offset) else { return nil }
        let head = ResponseHead(
            minorVersion: line.minorVersion, status: line.status, reason: line.reason, fields: section.fields, framing: section.framing)
        statusLine = nil
        section.reset()
        return head
    }

    private mutating func nextStatusLine(_ input: Span<UInt8>, from offset: inout Int) throws(ResponseSyntaxError) -> StatusLine? {
        let rest = input.extracting(offset...)
        guard StatusLine.canContinue(lines.unfinishedCount, with: rest) else {
            throw ResponseSyntaxError(lines.unfinishedCount == 0 && rest.startsTLSRecord ? .tlsResponse : .notHTTP, rest)
        }
        switch try lines.next(in: input, from: &offset, atMost: limits.maximumStatusLineBytes, orThrow: .statusLineTooLong) {
        case nil: return nil
        case .inInput(let range): return try StatusLine(parsing: input.extracting(range))
        case .assembled(let octets): return try StatusLine(parsing: octets.span)
        }
    }
}

extension Span<UInt8> {
    /// Whether the octets begin like a TLS alert or handshake record (RFC 8446 §5.1).
    fileprivate var startsTLSRecord: Bool { count >= 2 && (self[0] == 0x15 || self[0] == 0x16) && self[1] == 3 }
}
