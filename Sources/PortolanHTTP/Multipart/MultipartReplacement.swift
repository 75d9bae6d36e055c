// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import PortolanCoding
package import PortolanCore

/// Delivers each part of a `multipart/x-mixed-replace` body as a separate response with its data. The outer response is
/// not delivered.
///
/// - Only a response with status 200, with a boundary of up to 256 bytes, and without unknown content codings is split.
///   The request must not be HEAD. Any other response passes unchanged.
/// - Data before the first delimiter and after the closing delimiter is dropped. An incomplete head of a part is
///   dropped, too. Nested multipart bodies are not split.
/// - The closing delimiter can be missing, because cameras end their streams without it. A body without parts is an
///   error.
/// - The parser is lenient, as browsers are: lines can end without carriage return. If the boundary begins with two
///   hyphens, the delimiter's own two hyphens can be missing. If a part has a Content-Length, the delimiter
///   after its data needs no line break.
///
/// Source: RFC 2046 §5.1; HTML, "multipart/x-mixed-replace".
package struct MultipartReplacement: BodyTransform {
    private enum State {
        case preamble
        case delimiterLine(DelimiterLine)
        case head(PartHead)
        /// `remainingLength` is the rest of the part's Content-Length in bytes; `nil` if the part has none.
        case body(remainingLength: Int64?)
        case epilogue
    }

    /// The first bytes of a delimiter's line after the boundary.
    private enum DelimiterLine { case nothing, hyphen, other }

    /// RFC 2046 allows 70.
    private static let maximumBoundaryLength = 256

    private let limits: MultipartLimits
    private let hasBody: Bool
    private var responses: PartResponses?
    private var state = State.preamble
    /// One scanner for each possible delimiter. After the first delimiter, only the scanner that found it.
    private var scanners: [DelimiterScanner] = []

    package init(for request: Request, limits: MultipartLimits) {
        self.limits = limits
        hasBody = request.method != .head
    }

    /// Whether the response has status 200 and the type `multipart/x-mixed-replace`.
    static func isMultipartReplace(_ response: Response) -> Bool {
        response.status == .ok && response.mimeType?.essence == "multipart/x-mixed-replace"
    }

    package mutating func begin(_ response: inout Response) throws(LoadError) -> BodyTreatment {
        guard hasBody, Self.isMultipartReplace(response), response.remainingContentCodings.isEmpty, let type = response.mimeType else {
            return .passes
        }
        // The parser has decoded the field as ISO-8859-1.
        let boundary = (type[parameter: "boundary"] ?? "").unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        guard !boundary.isEmpty, boundary.count <= Self.maximumBoundaryLength else { return .passes }
        let hyphen = UInt8(ascii: "-")
        scanners = [DelimiterScanner(line: [hyphen, hyphen] + boundary)]
        if boundary.starts(with: [hyphen, hyphen]), boundary.contains(where: { $0 != hyphen }) {
            scanners.append(DelimiterScanner(line: boundary))
        }
        responses = PartResponses(outer: response)
        state = .preamble
        return .replaces
    }

    package mutating func advance(
        _ input: borrowing RawSpan, from position: inout Int, to client: any ProtocolClient
    ) throws(LoadError) -> Flow {
        while true {
            switch state {
            case .preamble:
                guard findFirstDelimiter(in: input, from: &position) else { return .keepGoing }
                state = .delimiterLine(.nothing)
            case .delimiterLine(let lastBytes):
                guard position < input.byteCount else { return .keepGoing }
                unsafe read(input.unsafeLoad(fromByteOffset: position, as: UInt8.self), after: lastBytes)
                position += 1
            case .head(var head):
                state = .epilogue  // so that the head is not copied
                let isComplete = try head.parse(input, from: &position)
                state = .head(head)
                guard isComplete else { return .keepGoing }
                let flow = beginPart(with: try head.fields(), to: client)
                guard flow == .keepGoing else { return flow }
            case .body(let remainingLength):
                guard let flow = deliver(input, from: &position, remainingLength: remainingLength, to: client) else { continue }
                return flow
            case .epilogue:
                position = input.byteCount
                return .keepGoing
            }
        }
    }

    package mutating func finish(to client: any ProtocolClient) throws(LoadError) -> Flow {
        guard responses?.hasMadeResponse == true else {
            throw LoadError(
                .badResponse,
                message: "the multipart/x-mixed-replace body ended before the data of its first part; load it again, or check its server")
        }
        guard case .body = state else { return .keepGoing }
        return deliverHeld(scanners[0].removeHeldBytes(), to: client)
    }

    // MARK: Delimiters and heads

    private mutating func findFirstDelimiter(in input: borrowing RawSpan, from position: inout Int) -> Bool {
        var first: (scanner: DelimiterScanner, end: Int)?
        for index in scanners.indices {
            var end = position
            var piece = scanners[index].next(input, from: &end)
            while piece != .delimiter, piece != .needsInput { piece = scanners[index].next(input, from: &end) }
            if piece == .delimiter, end < first?.end ?? .max { first = (scanners[index], end) }
        }
        position = first?.end ?? input.byteCount
        guard let first else { return false }
        scanners = [first.scanner]
        return true
    }

    /// Reads a byte after a boundary. Two hyphens end the body. All other bytes are skipped up to the end of the line.
    private mutating func read(_ byte: UInt8, after lastBytes: DelimiterLine) {
        switch (byte, lastBytes) {
        case (UInt8(ascii: "\n"), _): state = .head(PartHead(limits: limits))
        case (UInt8(ascii: "-"), .nothing): state = .delimiterLine(.hyphen)
        case (UInt8(ascii: "-"), .hyphen): state = .epilogue
        case (_, .nothing), (_, .hyphen), (_, .other): state = .delimiterLine(.other)
        }
    }

    private mutating func beginPart(with fields: HTTPFields, to client: any ProtocolClient) -> Flow {
        guard let response = responses?.make(with: fields) else { return .keepGoing }
        scanners[0].beginLine()
        state = .body(remainingLength: Int64(fields[.contentLength] ?? "").flatMap { $0 < 0 ? nil : $0 })
        return client.didReceive(response, storage: .notAllowed)
    }

    // MARK: Data

    /// Delivers data up to the next delimiter.
    ///
    /// - Returns: the flow to return to the caller; `nil` to continue with the current state.
    private mutating func deliver(
        _ input: borrowing RawSpan, from position: inout Int, remainingLength: Int64?, to client: any ProtocolClient
    ) -> Flow? {
        if remainingLength == 0 {
            state = .body(remainingLength: nil)
            guard scanners[0].isBeforeLine else { return nil }
            let heldBytes = scanners[0].removeHeldBytes()
            scanners[0].beginLine()
            let flow = deliverHeld(heldBytes, to: client)
            return flow == .keepGoing ? nil : flow
        }
        let start = position
        let end = remainingLength.map { start + min(Int(clamping: $0), input.byteCount - start) } ?? input.byteCount
        let piece = scanners[0].next(input.extracting(0..<end), from: &position)
        state = .body(remainingLength: remainingLength.map { $0 - Int64(position - start) })
        switch piece {
        case .data(let range):
            let flow = client.didLoad(input.extracting(range))
            return flow == .keepGoing ? nil : flow
        case .heldBytes(let range):
            let flow = deliverHeld(range, to: client)
            return flow == .keepGoing ? nil : flow
        case .delimiter:
            state = .delimiterLine(.nothing)
            return nil
        case .needsInput: return end < input.byteCount ? nil : .keepGoing
        }
    }

    private func deliverHeld(_ range: Range<Int>, to client: any ProtocolClient) -> Flow {
        if range.isEmpty { return .keepGoing }
        let pattern = scanners[0].pattern
        let bytes = unsafe pattern.span.bytes
        return client.didLoad(bytes.extracting(range))
    }
}

/// The stage between a load and its client that uses ``MultipartReplacement``.
package typealias MultipartReplaceStage = TransformStage<MultipartReplacement>

extension MultipartReplaceStage {
    package convenience init(for request: Request, limits: MultipartLimits = MultipartLimits(), next: any ProtocolClient) {
        self.init(MultipartReplacement(for: request, limits: limits), next: next)
    }
}
