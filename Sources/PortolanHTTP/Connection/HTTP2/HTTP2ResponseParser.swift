// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import PortolanHTTPSyntax

/// Parses the response from the frames of a stream. A pure state machine.
///
/// RFC 9113 §8.1
struct HTTP2ResponseParser {
    /// A complete field section.
    enum Section {
        case interim(ResponseHead)
        case head(ResponseHead, bodyLength: Int64?)
        case trailers(HTTPFields)
    }

    private enum State {
        case head
        /// `remaining` is `nil` if no length was given.
        case body(remaining: Int64?)
        case ended
    }

    private let limits: HTTPLimits
    private let method: HTTPRequest.Method
    private var state = State.head
    private var interimCounter = InterimCounter()
    /// `false` after HEAD, and for 204 and 304, even if they have a Content-Length.
    private var hasContent = true
    /// Whether the first frame of the response has arrived.
    private(set) var hasResponseBegun = false
    /// The number of received bytes: fields as text, and content.
    private(set) var byteCount: Int64 = 0

    init(_ method: HTTPRequest.Method, limits: HTTPLimits) {
        self.method = method
        self.limits = limits
    }

    var isInHead: Bool { if case .head = state { true } else { false } }

    /// Records that the first frame on the stream has arrived.
    mutating func responseDidBegin() { hasResponseBegun = true }

    /// Makes a section for the fields of a new HEADERS frame.
    func makeSection() -> HTTP2FieldSection {
        isInHead ? HTTP2FieldSection(headWithin: limits) : HTTP2FieldSection(trailersWithin: limits)
    }

    /// Processes a HEADERS frame.
    mutating func process(_ section: HTTP2FieldSection, endsStream: Bool) throws(HTTP2ResponseError) -> Section {
        hasResponseBegun = true
        switch state {
        case .head: return try processHead(section, endsStream)
        case .body, .ended:
            guard endsStream else { throw HTTP2ResponseError(.openTrailers) }
            try section.end()
            byteCount += Int64(section.byteCount)
            try end()
            return .trailers(section.fields)
        }
    }

    private mutating func processHead(_ section: HTTP2FieldSection, _ endsStream: Bool) throws(HTTP2ResponseError) -> Section {
        try section.end()
        byteCount += Int64(section.byteCount)
        let head = ResponseHead(
            majorVersion: 2, minorVersion: 0, status: section.status ?? 0, reason: "", fields: section.fields, framing: section.framing)
        guard !head.isInterim else {
            guard !endsStream else { throw HTTP2ResponseError(.endInInterimResponse) }
            guard interimCounter.count(head, limits) else { throw HTTP2ResponseError(.tooManyInterimResponses) }
            return .interim(head)
        }
        let length = try beginBody(head, endsStream)
        if endsStream { try end() }
        return .head(head, bodyLength: length)
    }

    /// Prepares for the body, and returns its length; `nil` if the length is unknown. For HEAD, returns the length that
    /// the body would have.
    private mutating func beginBody(_ head: ResponseHead, _ endsStream: Bool) throws(HTTP2ResponseError) -> Int64? {
        if let fault = head.framing.contentLengthFault {
            throw HTTP2ResponseError(
                fault.rule == .contentLengthsDiffer ? .contentLengthsDiffer : .contentLength, head.fields[.contentLength] ?? "")
        }
        let length = head.framing.contentLength
        if method == .head || head.status == 204 || head.status == 304 {
            hasContent = false
            state = .body(remaining: 0)
            return method == .head ? length : 0
        }
        state = .body(remaining: length)
        return length ?? (endsStream ? 0 : nil)
    }

    /// Processes a DATA frame, or a part of one, with `count` bytes of content.
    mutating func processData(_ count: Int, endsStream: Bool) throws(HTTP2ResponseError) {
        guard case .body(let remaining) = state else { throw HTTP2ResponseError(.contentBeforeHead) }
        byteCount += Int64(count)
        if let remaining {
            guard count <= remaining else { throw HTTP2ResponseError(hasContent ? .tooMuchContent : .unexpectedContent) }
            state = .body(remaining: remaining - Int64(count))
        }
        if endsStream { try end() }
    }

    private mutating func end() throws(HTTP2ResponseError) {
        if case .body(let remaining?) = state, remaining > 0 { throw HTTP2ResponseError(.tooLittleContent) }
        state = .ended
    }
}
