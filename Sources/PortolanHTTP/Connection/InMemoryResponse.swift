// SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
public import PortolanCore
public import PortolanHTTPSyntax

/// A response that is parsed as on an HTTP/1.1 connection, but without a connection. For tests and fuzzers.
@_spi(Fuzzing) public struct InMemoryResponse: Equatable {
    /// The statuses of the interim responses.
    public private(set) var interim: [Int] = []
    public private(set) var status = 0
    /// Name and value of each field, in ISO-8859-1.
    public private(set) var fields: [[String]] = []
    public private(set) var body: [UInt8] = []
    public private(set) var trailers: [[String]] = []
    public private(set) var isReusable = false
    /// Whether the body ends with the connection.
    public private(set) var endsAtClose = false
    /// The number of consumed bytes.
    public private(set) var byteCount = 0

    /// - Parameters:
    ///   - pieces: the input in pieces. The connection ends after the last one.
    ///   - method: the method of the request.
    ///   - earlier: earlier input on the same connection. If it starts with a head, the parser parses that head first.
    /// - Throws: the error with which the load would fail.
    public init(
        _ pieces: [ArraySlice<UInt8>], method: HTTPRequest.Method, limits: HTTPLimits = HTTPLimits(), after earlier: [UInt8] = []
    ) throws(LoadError) {
        var parser = ResponseParser(limits: limits, heads: Self.parser(limits, after: earlier))
        parser.expectResponse(to: method)
        do throws(ResponseSyntaxError) { try read(pieces, &parser) } catch { throw error.loadError }
    }

    private static func parser(_ limits: HTTPLimits, after earlier: [UInt8]) -> ResponseHeadParser {
        var parser = ResponseHeadParser(limits: limits)
        var offset = 0
        // `try?` because a connection ends after a malformed head. Then there is no earlier head.
        let head = try? unsafe parser.parse(earlier.span.bytes, from: &offset)
        return head == nil ? ResponseHeadParser(limits: limits) : parser
    }

    private mutating func read(_ pieces: [ArraySlice<UInt8>], _ parser: inout ResponseParser) throws(ResponseSyntaxError) {
        for piece in pieces {
            let bytes = Array(piece)
            var offset = 0
            let isComplete = try read(bytes, &offset, &parser)
            byteCount += offset
            if isComplete { return }
        }
        _ = try parser.endOfInput()
    }

    /// - Returns: whether the response is complete.
    private mutating func read(_ bytes: [UInt8], _ offset: inout Int, _ parser: inout ResponseParser) throws(ResponseSyntaxError) -> Bool {
        while true {
            switch try unsafe parser.next(bytes.span.bytes, from: &offset) {
            case .needsMore: return false
            case .interim(let head): interim.append(head.status)
            case .head(let head, _):
                status = head.status
                fields = Self.texts(head.fields)
                (isReusable, endsAtClose) = (parser.allowsReuse, parser.endsAtClose)
            case .data(let range): body += bytes[range]
            case .end(let fields):
                if let fields { trailers = Self.texts(fields) }
                return true
            }
        }
    }

    static func texts(_ fields: HTTPFields) -> [[String]] {
        fields.map { field in
            let value = unsafe field.withUnsafeBytesOfValue { unsafe $0.map { Character(Unicode.Scalar($0)) } }
            return [field.name.rawName, String(value)]
        }
    }
}
