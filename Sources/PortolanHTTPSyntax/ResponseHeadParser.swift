// SPDX-License-Identifier: Apache-2.0

/// Parses the head of one response, in pieces of any size.
///
/// A head in one piece is parsed in place. Of a head in several pieces, only a line that spans two pieces is buffered.
/// An error is thrown with the line that contains it, and not before, however the input is split. Only a start other
/// than `HTTP/` is reported at once.
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

    /// Consumes bytes of `input` from `offset` on. Returns the head when it is complete; `offset` is then behind its
    /// last byte.
    ///
    /// After a head the parser is ready for the next one. After an error it must not be used.
    ///
    /// - Complexity: linear in the bytes taken.
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
        section.startAgain()
        return head
    }

    private mutating func nextStatusLine(_ input: Span<UInt8>, from offset: inout Int) throws(ResponseSyntaxError) -> StatusLine? {
        let rest = input.extracting(offset...)
        guard StatusLine.canContinue(lines.unfinishedCount, with: rest) else {
            throw ResponseSyntaxError(lines.unfinishedCount == 0 && rest.startsRecordOfTLS ? .tlsResponse : .notHTTP, rest)
        }
        switch try lines.next(in: input, from: &offset, atMost: limits.maximumStatusLineBytes, orBreak: .statusLineTooLong) {
        case nil: return nil
        case .inInput(let range): return try StatusLine(parsing: input.extracting(range))
        case .assembled(let octets): return try StatusLine(parsing: octets.span)
        }
    }
}

extension Span<UInt8> {
    /// Whether it begins like a TLS alert or handshake record (RFC 8446 §5.1).
    fileprivate var startsRecordOfTLS: Bool { count >= 2 && (self[0] == 0x15 || self[0] == 0x16) && self[1] == 3 }
}
