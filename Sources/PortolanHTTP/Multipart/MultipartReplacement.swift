// SPDX-License-Identifier: Apache-2.0

internal import HTTPTypes
package import PortolanCoding
package import PortolanCore

/// Turns each part of a `multipart/x-mixed-replace` body into a response and its data. The outer response is not
/// delivered.
///
/// - Only a 200 to a request that is not HEAD is split, with a boundary of up to 256 bytes and without remaining
///   content codings. Any other response passes unchanged.
/// - Data before the first delimiter and after the closing one is dropped, and so is an incomplete head of a part. A
///   part that is a multipart itself is delivered unchanged.
/// - The closing delimiter may be missing, because a camera's stream just ends. A body without any part is an error.
/// - As in browsers, lines may end without carriage return. If a boundary begins with two hyphens, the two hyphens
///   before it may be missing. After exactly as many bytes as a part's Content-Length says, a delimiter needs no line
///   break.
///
/// Source: RFC 2046 §5.1; HTML, "multipart/x-mixed-replace".
package struct MultipartReplacement: BodyTransform {
    private enum Place {
        case preamble
        case delimiterLine(DelimiterLine)
        case head(PartHead)
        /// `announced` is the number of bytes that are still to come according to the part's head.
        case body(announced: Int64?)
        case epilogue
    }

    /// The part of a delimiter's line after the boundary, as far as it was read.
    private enum DelimiterLine { case nothing, hyphen, other }

    /// RFC 2046 allows 70.
    private static let longestBoundary = 256

    private let limits: MultipartLimits
    private let hasBody: Bool
    private var responses: PartResponses?
    private var place = Place.preamble
    /// Until the first delimiter, one scanner for each line that may begin a delimiter.
    private var scanners: [DelimiterScanner] = []

    package init(for request: Request, limits: MultipartLimits) {
        self.limits = limits
        hasBody = request.method != .head
    }

    /// Whether the response has status 200 and the type `multipart/x-mixed-replace`.
    static func mayTakeApart(_ response: Response) -> Bool {
        response.status == .ok && response.mimeType?.essence == "multipart/x-mixed-replace"
    }

    package mutating func begin(_ response: inout Response) throws(LoadError) -> BodyTreatment {
        guard hasBody, Self.mayTakeApart(response), response.remainingContentCodings.isEmpty, let type = response.mimeType else {
            return .passes
        }
        // The field's bytes were decoded as ISO-8859-1.
        let boundary = (type[parameter: "boundary"] ?? "").unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
        guard !boundary.isEmpty, boundary.count <= Self.longestBoundary else { return .passes }
        let hyphen = UInt8(ascii: "-")
        scanners = [DelimiterScanner(line: [hyphen, hyphen] + boundary)]
        if boundary.starts(with: [hyphen, hyphen]), boundary.contains(where: { $0 != hyphen }) {
            scanners.append(DelimiterScanner(line: boundary))
        }
        responses = PartResponses(outer: response)
        place = .preamble
        return .replaces
    }

    package mutating func advance(
        _ input: borrowing RawSpan, from position: inout Int, to client: any ProtocolClient
    ) throws(LoadError) -> Flow {
        while true {
            switch place {
            case .preamble:
                guard findFirstDelimiter(in: input, from: &position) else { return .keepGoing }
                place = .delimiterLine(.nothing)
            case .delimiterLine(let seen):
                guard position < input.byteCount else { return .keepGoing }
                unsafe read(input.unsafeLoad(fromByteOffset: position, as: UInt8.self), after: seen)
                position += 1
            case .head(var head):
                place = .epilogue  // so that the head is not copied
                let isComplete = try head.take(input, from: &position)
                place = .head(head)
                guard isComplete else { return .keepGoing }
                let flow = beginPart(with: try head.fields(), to: client)
                guard flow == .keepGoing else { return flow }
            case .body(let announced):
                guard let flow = deliver(input, from: &position, announced: announced, to: client) else { continue }
                return flow
            case .epilogue:
                position = input.byteCount
                return .keepGoing
            }
        }
    }

    package mutating func finish(to client: any ProtocolClient) throws(LoadError) -> Flow {
        guard responses?.hasMadeOne == true else {
            throw LoadError(
                .badResponse,
                message: "the multipart/x-mixed-replace body ended before the data of its first part; load it again, or check its server")
        }
        guard case .body = place else { return .keepGoing }
        return deliverHeld(scanners[0].takeHeld(), to: client)
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

    /// Reads a byte after a boundary. Two hyphens close the body. Anything else is skipped up to the line's end.
    private mutating func read(_ byte: UInt8, after seen: DelimiterLine) {
        switch (byte, seen) {
        case (UInt8(ascii: "\n"), _): place = .head(PartHead(limits: limits))
        case (UInt8(ascii: "-"), .nothing): place = .delimiterLine(.hyphen)
        case (UInt8(ascii: "-"), .hyphen): place = .epilogue
        case (_, .nothing), (_, .hyphen), (_, .other): place = .delimiterLine(.other)
        }
    }

    private mutating func beginPart(with fields: HTTPFields, to client: any ProtocolClient) -> Flow {
        guard let response = responses?.make(with: fields) else { return .keepGoing }
        scanners[0].beginLine()
        place = .body(announced: Int64(fields[.contentLength] ?? "").flatMap { $0 < 0 ? nil : $0 })
        return client.didReceive(response, storage: .notAllowed)
    }

    // MARK: Data

    /// Delivers data up to the next delimiter.
    ///
    /// - Returns: `nil` if the caller must look at the next state.
    private mutating func deliver(
        _ input: borrowing RawSpan, from position: inout Int, announced: Int64?, to client: any ProtocolClient
    ) -> Flow? {
        if announced == 0 {
            place = .body(announced: nil)
            guard scanners[0].isBeforeLine else { return nil }
            let held = scanners[0].takeHeld()
            scanners[0].beginLine()
            let flow = deliverHeld(held, to: client)
            return flow == .keepGoing ? nil : flow
        }
        let start = position
        let end = announced.map { start + min(Int(clamping: $0), input.byteCount - start) } ?? input.byteCount
        let piece = scanners[0].next(input.extracting(0..<end), from: &position)
        place = .body(announced: announced.map { $0 - Int64(position - start) })
        switch piece {
        case .data(let range):
            let flow = client.didLoad(input.extracting(range))
            return flow == .keepGoing ? nil : flow
        case .held(let range):
            let flow = deliverHeld(range, to: client)
            return flow == .keepGoing ? nil : flow
        case .delimiter:
            place = .delimiterLine(.nothing)
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

/// Turns each part of a `multipart/x-mixed-replace` body into a separate response, between a load and its client.
package typealias MultipartReplaceStage = TransformStage<MultipartReplacement>

extension MultipartReplaceStage {
    package convenience init(for request: Request, limits: MultipartLimits = MultipartLimits(), next: any ProtocolClient) {
        self.init(MultipartReplacement(for: request, limits: limits), next: next)
    }
}
