// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanHTTPSyntax

/// Parses the responses on an HTTP/1.1 connection, one after the other.
///
/// A pure state machine. It borrows the bytes, and returns data as ranges of the input. RFC 9112 §6, §9
struct ResponseParser: ~Copyable {
    enum Event {
        /// The next event needs more bytes.
        case needsMore
        case interim(ResponseHead)
        case head(ResponseHead, bodyLength: Int64?)
        /// Bytes of the body, as a range of the input.
        case data(Range<Int>)
        case end(trailers: HTTPFields?)
    }

    private enum State {
        /// No request awaits a response.
        case idle
        case head
        case body(remaining: Int64)
        case chunks
        case untilClose
        case atEnd(HTTPFields?)
    }

    private let limits: HTTPLimits
    private var parser: ResponseHeadParser
    private var chunks: ChunkedDecoder
    private var state = State.idle
    private var method = HTTPRequest.Method.get
    private var interimCounter = InterimCounter()
    /// Whether the connection can carry another transaction after this one.
    private(set) var allowsReuse = true

    /// - Parameter heads: the parser of the earlier heads on the connection, if there were any.
    init(limits: HTTPLimits, heads: ResponseHeadParser? = nil) {
        self.limits = limits
        parser = heads ?? ResponseHeadParser(limits: limits)
        chunks = ChunkedDecoder(limits: limits)
    }

    /// Prepares for the response to a request with this method.
    mutating func expectResponse(to method: HTTPRequest.Method) {
        self.method = method
        state = .head
        interimCounter = InterimCounter()
        allowsReuse = true
    }

    var isInHead: Bool { if case .head = state { true } else { false } }

    /// The number of bytes until the end of the body; `nil` if it is unknown.
    var remaining: Int64? {
        switch state {
        case .body(let remaining): remaining
        case .idle, .atEnd: 0
        case .head, .chunks, .untilClose: nil
        }
    }

    var endsAtClose: Bool { if case .untilClose = state { true } else { false } }

    /// Returns the next event in `input` from `offset` on, and advances `offset` past it.
    mutating func next(_ input: borrowing RawSpan, from offset: inout Int) throws(ResponseSyntaxError) -> Event {
        switch state {
        case .idle: return .needsMore
        case .head:
            guard let head = try parser.parse(input, from: &offset) else { return .needsMore }
            return try event(for: head)
        case .body(let remaining):
            let count = Int(min(remaining, Int64(input.byteCount - offset)))
            guard count > 0 else { return .needsMore }
            defer { offset += count }
            state = remaining == Int64(count) ? .atEnd(nil) : .body(remaining: remaining - Int64(count))
            return .data(offset..<offset + count)
        case .chunks:
            switch try chunks.next(input, from: &offset) {
            case .needsMore: return .needsMore
            case .data(let range): return .data(range)
            case .end(let trailers):
                state = .atEnd(trailers.isEmpty ? nil : trailers)
                return end()
            }
        case .untilClose:
            guard offset < input.byteCount else { return .needsMore }
            defer { offset = input.byteCount }
            return .data(offset..<input.byteCount)
        case .atEnd: return end()
        }
    }

    private mutating func end() -> Event {
        guard case .atEnd(let trailers) = state else { return .needsMore }
        state = .idle
        return .end(trailers: trailers)
    }

    /// Returns the event for a head. After the head of a final response, the parser expects its body.
    private mutating func event(for head: ResponseHead) throws(ResponseSyntaxError) -> Event {
        if head.isInterim {
            guard interimCounter.count(head, limits) else { throw ResponseSyntaxError(.tooManyInterimResponses) }
            // `Connection: close` also applies to the final response (RFC 9112 §9.6).
            if head.framing.closesConnection { allowsReuse = false }
            return .interim(head)
        }
        let framing = try BodyFraming(method: method, head: head)
        allowsReuse = allowsReuse && head.allowsReuse(after: framing)
        switch framing {
        case .none:
            state = .atEnd(nil)
            // For HEAD, the length that the body would have.
            return .head(head, bodyLength: method == .head ? head.framing.contentLength : 0)
        case .length(let length):
            state = length == 0 ? .atEnd(nil) : .body(remaining: length)
            return .head(head, bodyLength: length)
        case .chunked:
            state = .chunks
            chunks = ChunkedDecoder(limits: limits)
            return .head(head, bodyLength: nil)
        case .untilClose:
            state = .untilClose
            return .head(head, bodyLength: nil)
        case .tunnel:
            state = .atEnd(nil)
            return .head(head, bodyLength: 0)
        }
    }

    /// Handles the end of the connection.
    ///
    /// - Returns: whether the response is complete now.
    /// - Throws: the error if the response is incomplete.
    mutating func endOfInput() throws(ResponseSyntaxError) -> Bool {
        switch state {
        case .idle: return true
        case .untilClose, .atEnd:
            state = .idle
            return true
        case .head: throw parser.errorAtEnd
        case .body: throw ResponseSyntaxError(.cutInBody)
        case .chunks: throw chunks.errorAtEnd
        }
    }
}
