// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// Decodes the chunked transfer coding. The input comes in pieces of any size. The data is not copied.
///
/// Sizes, extensions and chunk ends are parsed strictly and need CR LF. The only exception: blanks can follow a size.
/// Trailers are parsed like the fields of a head, but returned separately (RFC 9110 §6.5).
///
/// RFC 9112 §7.1
package struct ChunkedDecoder: Sendable {
    package enum Piece: Sendable {
        /// All input was consumed. The body is not complete.
        case needsMore
        /// The range of the next body bytes in the input. It is never empty.
        case data(Range<Int>)
        /// The body and its trailers are complete.
        case end(trailers: HTTPFields)
    }

    private enum State {
        case firstDigit
        case digits
        case extensions
        case lineFeedAfterSize
        case data
        case returnAfterData
        case lineFeedAfterData
        case trailers
        case ended
    }

    private var state = State.firstDigit
    /// The number of data bytes that the current chunk still has. While the size is parsed, the number read so far.
    private var remainingBytes: Int64 = 0
    private var parameters = ParameterScanner()
    private var extensionBytesOfChunk = 0
    private var extensionBytesOfBody = 0
    private var trailerParser: FieldSectionParser
    private let limits: HTTPLimits

    package init(limits: HTTPLimits) {
        self.limits = limits
        trailerParser = FieldSectionParser(trailersWithin: limits)
    }

    /// The error if the connection ends before the body does.
    package var errorAtEnd: ResponseSyntaxError { ResponseSyntaxError(.cutInBody) }

    /// Consumes bytes of `input` from `offset` on, up to the end of the next data in `input`, or of the body.
    ///
    /// Call this method until it returns `.needsMore` or `.end`. After an error, do not use the decoder.
    package mutating func next(_ input: borrowing RawSpan, from offset: inout Int) throws(ResponseSyntaxError) -> Piece {
        try input.withOctets { (octets) throws(ResponseSyntaxError) in try next(octets, from: &offset) }
    }

    private mutating func next(_ input: Span<UInt8>, from offset: inout Int) throws(ResponseSyntaxError) -> Piece {
        while offset < input.count {
            switch state {
            case .data:
                let count = Int(min(remainingBytes, Int64(input.count - offset)))
                let range = offset..<offset + count
                offset += count
                remainingBytes -= Int64(count)
                if remainingBytes == 0 { state = .returnAfterData }
                return .data(range)
            case .trailers:
                guard try trailerParser.parse(input, from: &offset) else { return .needsMore }
                state = .ended
                return .end(trailers: trailerParser.fields)
            case .firstDigit, .digits, .extensions, .lineFeedAfterSize, .returnAfterData, .lineFeedAfterData:
                try consume(input[offset])
                offset += 1
            case .ended:
                return .end(trailers: trailerParser.fields)
            }
        }
        return .needsMore
    }

    /// Consumes an octet outside of the data and the trailers.
    @inline(__always)
    private mutating func consume(_ octet: UInt8) throws(ResponseSyntaxError) {
        switch state {
        case .firstDigit:
            guard let digit = octet.hexadecimalValue else { throw Self.error(.chunkSize, octet) }
            remainingBytes = Int64(digit)
            state = .digits
        case .digits: try consumeAfterDigit(octet)
        case .extensions: try consumeExtension(octet)
        case .lineFeedAfterSize:
            guard octet == .lineFeed else { throw Self.error(.chunkSize, octet) }
            state = remainingBytes == 0 ? .trailers : .data
            parameters = ParameterScanner()
            extensionBytesOfChunk = 0
        case .returnAfterData:
            guard octet == .carriageReturn else { throw Self.error(.chunkEnd, octet) }
            state = .lineFeedAfterData
        case .lineFeedAfterData:
            guard octet == .lineFeed else { throw Self.error(.chunkEnd, octet) }
            state = .firstDigit
        case .data, .trailers, .ended: break
        }
    }

    private mutating func consumeAfterDigit(_ octet: UInt8) throws(ResponseSyntaxError) {
        guard let digit = octet.hexadecimalValue else {
            if octet == .carriageReturn { state = .lineFeedAfterSize } else { try consumeExtension(octet) }
            return
        }
        guard remainingBytes <= Int64.max >> 4 else { throw ResponseSyntaxError(.chunkSizeTooLarge) }
        if remainingBytes == 0 { try countExtensionByte() }  // a leading zero
        remainingBytes = remainingBytes << 4 | Int64(digit)
    }

    private mutating func consumeExtension(_ octet: UInt8) throws(ResponseSyntaxError) {
        let isAfterDigits = state == .digits
        state = .extensions
        if octet == .carriageReturn, parameters.isComplete {
            state = .lineFeedAfterSize
            return
        }
        try countExtensionByte()
        guard parameters.consume(octet) else { throw Self.error(isAfterDigits ? .chunkSize : .chunkExtension, octet) }
    }

    private mutating func countExtensionByte() throws(ResponseSyntaxError) {
        extensionBytesOfChunk += 1
        extensionBytesOfBody += 1
        guard extensionBytesOfChunk <= limits.maximumChunkExtensionBytes, extensionBytesOfBody <= limits.maximumChunkExtensionBytesPerBody
        else {
            throw ResponseSyntaxError(.chunkExtensionsTooLong)
        }
    }

    private static func error(_ rule: ResponseSyntaxError.Rule, _ octet: UInt8) -> ResponseSyntaxError {
        ResponseSyntaxError(rule, [octet].span)
    }
}
