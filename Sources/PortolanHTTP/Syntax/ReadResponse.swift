// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import PortolanCore

/// A response in memory, read with the parsers as a connection puts them together: for tests and fuzzers, which have no connection.
@_spi(Fuzzing) public struct ReadResponse: Equatable {
    public private(set) var interim: [Int] = []
    public private(set) var status = 0
    /// Name and value of each, in ISO-8859-1.
    public private(set) var fields: [[String]] = []
    public private(set) var body: [UInt8] = []
    public private(set) var trailers: [[String]] = []
    public private(set) var isReusable = false
    /// Whether the end of the connection is the end of the body.
    public private(set) var endsAtClose = false
    /// Bytes that belong to it.
    public private(set) var byteCount = 0
    private var bodyFraming = BodyFraming.none

    /// - Parameters:
    ///   - pieces: what comes, one after the other; then the connection ends.
    ///   - method: of the request.
    ///   - earlier: what came on the same connection before; where it starts with a head, the parser has read that one.
    /// - Throws: what the load would fail with.
    public init(
        _ pieces: [ArraySlice<UInt8>], method: HTTPRequest.Method, limits: HTTPLimits = HTTPLimits(), after earlier: [UInt8] = []
    ) throws(LoadError) {
        let heads = Self.parser(limits, after: earlier)
        do throws(ResponseSyntaxError) { try read(pieces, method, limits, heads) } catch { throw error.loadError }
    }

    private static func parser(_ limits: HTTPLimits, after earlier: [UInt8]) -> ResponseHeadParser {
        var parser = ResponseHeadParser(limits: limits)
        var offset = 0
        // `try?` because after a head that can't be read there is no connection to read on.
        let head = try? unsafe parser.parse(earlier.span.bytes, from: &offset)
        return head == nil ? ResponseHeadParser(limits: limits) : parser
    }

    private mutating func read(
        _ pieces: [ArraySlice<UInt8>], _ method: HTTPRequest.Method, _ limits: HTTPLimits, _ heads: consuming ResponseHeadParser
    ) throws(ResponseSyntaxError) {
        var chunks = ChunkedDecoder(limits: limits)
        var head: ResponseHead?
        for piece in pieces {
            let bytes = Array(piece)
            var offset = 0
            while head == nil, let next = try unsafe heads.parse(bytes.span.bytes, from: &offset) {
                if next.isInterim {
                    interim.append(next.status)
                    guard interim.count <= limits.interimResponses else { throw ResponseSyntaxError(.tooManyInterimResponses) }
                } else {
                    head = next
                    try take(next, method)
                }
            }
            let isComplete = head == nil ? false : try takeBody(bytes, &offset, &chunks)
            byteCount += offset
            if isComplete { return }
        }
        guard head != nil else { throw heads.errorAtEnd }
        guard endsAtClose else { throw chunks.errorAtEnd }
    }

    private mutating func take(_ head: ResponseHead, _ method: HTTPRequest.Method) throws(ResponseSyntaxError) {
        bodyFraming = try BodyFraming(method: method, head: head)
        status = head.status
        fields = Self.texts(head.fields)
        isReusable = head.allowsReuse(after: bodyFraming)
        endsAtClose = bodyFraming == .untilClose
    }

    /// - Returns: whether the body is complete.
    private mutating func takeBody(
        _ bytes: [UInt8], _ offset: inout Int, _ chunks: inout ChunkedDecoder
    ) throws(ResponseSyntaxError) -> Bool {
        switch bodyFraming {
        case .none, .tunnel: return true
        case .untilClose:
            body += bytes[offset...]
            offset = bytes.count
            return false
        case .length(let length):
            let count = Int(min(length - Int64(body.count), Int64(bytes.count - offset)))
            body += bytes[offset..<offset + count]
            offset += count
            return Int64(body.count) == length
        case .chunked:
            while true {
                switch try unsafe chunks.next(bytes.span.bytes, from: &offset) {
                case .needMore: return false
                case .data(let range): body += bytes[range]
                case .end(let fields):
                    trailers = Self.texts(fields)
                    return true
                }
            }
        }
    }

    private static func texts(_ fields: HTTPFields) -> [[String]] {
        fields.map { field in
            let value = unsafe field.withUnsafeBytesOfValue { unsafe $0.map { Character(Unicode.Scalar($0)) } }
            return [field.name.rawName, String(value)]
        }
    }
}
