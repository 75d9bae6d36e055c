// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanHTTPSyntax

/// Parses the responses on an HTTP/1.1 connection, one after the other. Decides what each run of bytes is.
///
/// A pure state machine: bytes are borrowed, nothing is written. RFC 9112 §6, §9
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

    private enum Place {
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
    private var place = Place.idle
    private var method = HTTPRequest.Method.get
    private var interimCount = 0
    /// Whether the connection can carry another exchange after this one.
    private(set) var allowsReuse = true

    /// - Parameter heads: the parser that has read the earlier heads, if there were any.
    init(limits: HTTPLimits, heads: ResponseHeadParser? = nil) {
        self.limits = limits
        parser = heads ?? ResponseHeadParser(limits: limits)
        chunks = ChunkedDecoder(limits: limits)
    }

    /// Begins the response to a request with this method.
    mutating func begin(_ method: HTTPRequest.Method) {
        self.method = method
        place = .head
        interimCount = 0
        allowsReuse = true
    }

    var isInHead: Bool { if case .head = place { true } else { false } }

    /// How many bytes of the body are still to come; `nil` if that is not known.
    var remaining: Int64? {
        switch place {
        case .body(let remaining): remaining
        case .idle, .atEnd: 0
        case .head, .chunks, .untilClose: nil
        }
    }

    var endsAtClose: Bool { if case .untilClose = place { true } else { false } }

    /// Returns the next event in `input` from `offset` on, and advances `offset` past it.
    mutating func next(_ input: borrowing RawSpan, from offset: inout Int) throws(ResponseSyntaxError) -> Event {
        switch place {
        case .idle: return .needsMore
        case .head:
            guard let head = try parser.parse(input, from: &offset) else { return .needsMore }
            return try begin(head)
        case .body(let remaining):
            let count = Int(min(remaining, Int64(input.byteCount - offset)))
            guard count > 0 else { return .needsMore }
            defer { offset += count }
            place = remaining == Int64(count) ? .atEnd(nil) : .body(remaining: remaining - Int64(count))
            return .data(offset..<offset + count)
        case .chunks:
            switch try chunks.next(input, from: &offset) {
            case .needMore: return .needsMore
            case .data(let range): return .data(range)
            case .end(let trailers):
                place = .atEnd(trailers.isEmpty ? nil : trailers)
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
        guard case .atEnd(let trailers) = place else { return .needsMore }
        place = .idle
        return .end(trailers: trailers)
    }

    private mutating func begin(_ head: ResponseHead) throws(ResponseSyntaxError) -> Event {
        if head.isInterim {
            interimCount += 1
            guard interimCount <= limits.maximumInterimResponsesPerResponse else { throw ResponseSyntaxError(.tooManyInterimResponses) }
            // RFC 9112 §9.6: this also applies to the response that follows.
            if head.framing.closes { allowsReuse = false }
            return .interim(head)
        }
        let framing = try BodyFraming(method: method, head: head)
        allowsReuse = allowsReuse && head.allowsReuse(after: framing)
        switch framing {
        case .none:
            place = .atEnd(nil)
            // For HEAD, the length that the body would have.
            return .head(head, bodyLength: method == .head ? head.framing.contentLength : 0)
        case .length(let length):
            place = length == 0 ? .atEnd(nil) : .body(remaining: length)
            return .head(head, bodyLength: length)
        case .chunked:
            place = .chunks
            chunks = ChunkedDecoder(limits: limits)
            return .head(head, bodyLength: nil)
        case .untilClose:
            place = .untilClose
            return .head(head, bodyLength: nil)
        case .tunnel:
            place = .atEnd(nil)
            return .head(head, bodyLength: 0)
        }
    }

    /// Handles the end of the connection.
    ///
    /// - Returns: whether the response is complete now.
    /// - Throws: the reason why it is not.
    mutating func endOfInput() throws(ResponseSyntaxError) -> Bool {
        switch place {
        case .idle: return true
        case .untilClose, .atEnd:
            place = .idle
            return true
        case .head: throw parser.errorAtEnd
        case .body: throw ResponseSyntaxError(.cutInBody)
        case .chunks: throw chunks.errorAtEnd
        }
    }
}
