// SPDX-License-Identifier: Apache-2.0

/// An IPv6 address, which is in brackets in a URL.
///
/// WHATWG URL §3.5
struct IPv6Address: Sendable, Hashable {
    private(set) var pieces = SIMD8<UInt16>()

    /// Parses an address without its brackets.
    ///
    /// - Throws: the violated rule, and its offset in the source.
    init(parsing range: Range<Int>, of source: Span<UInt8>) throws(URLParser.Failure) {
        do {
            try parse(source.extracting(range))
        } catch {
            throw URLParser.Failure(error.rule, at: range.lowerBound + error.offset)
        }
    }

    private mutating func parse(_ text: Span<UInt8>) throws(URLParser.Failure) {
        var position = 0
        var index = 0
        var compressionIndex: Int?
        if text.has(":", at: 0) {
            guard text.has(":", at: 1) else { throw URLParser.Failure(.ipv6InvalidCompression, at: 0) }
            position = 2
            index = 1
            compressionIndex = 1
        }
        while position < text.count {
            if index == 8 { throw URLParser.Failure(.ipv6TooManyPieces, at: position) }
            if text.has(":", at: position) {
                if compressionIndex != nil { throw URLParser.Failure(.ipv6MultipleCompression, at: position) }
                position += 1
                index += 1
                compressionIndex = index
                continue
            }
            let start = position
            while position < text.count, position < start + 4, let digit = text[position].hexDigitValue {
                pieces[index] = pieces[index] << 4 | UInt16(digit)
                position += 1
            }
            if text.has(".", at: position) {
                if index > 6 { throw URLParser.Failure(.ipv4InIPv6TooManyPieces, at: start) }
                try parseEmbeddedIPv4(text, from: start, index: index)
                index += 2
                break
            }
            if position < text.count {
                guard text.has(":", at: position), position + 1 < text.count else {
                    throw URLParser.Failure(.ipv6InvalidCodePoint, at: position)
                }
                position += 1
            }
            index += 1
        }
        if let compressionIndex {
            moveToEnd(compressionIndex..<index)
        } else if index < 8 {
            throw URLParser.Failure(.ipv6TooFewPieces, at: text.count)
        }
    }

    /// Parses four decimal numbers, up to the end, into two pieces.
    private mutating func parseEmbeddedIPv4(_ text: Span<UInt8>, from start: Int, index: Int) throws(URLParser.Failure) {
        var position = start
        var address: UInt32 = 0
        for part in 0..<4 {
            if part > 0 {
                if position == text.count { throw URLParser.Failure(.ipv4InIPv6TooFewParts, at: position) }
                guard text.has(".", at: position) else { throw URLParser.Failure(.ipv4InIPv6InvalidCodePoint, at: position) }
                position += 1
            }
            let partStart = position
            var value: UInt32 = 0
            while position < text.count, text[position].isASCIIDigit {
                if position > partStart, value == 0 { throw URLParser.Failure(.ipv4InIPv6InvalidCodePoint, at: position) }
                value = value * 10 + UInt32(text[position] - 0x30)
                if value > 255 { throw URLParser.Failure(.ipv4InIPv6OutOfRangePart, at: partStart) }
                position += 1
            }
            if position == partStart { throw URLParser.Failure(.ipv4InIPv6InvalidCodePoint, at: position) }
            address = address << 8 | value
        }
        if position < text.count { throw URLParser.Failure(.ipv4InIPv6InvalidCodePoint, at: position) }
        pieces[index] = UInt16(truncatingIfNeeded: address >> 16)
        pieces[index + 1] = UInt16(truncatingIfNeeded: address)
    }

    /// Moves the pieces after the "::" to their final places, and leaves zeros behind.
    private mutating func moveToEnd(_ written: Range<Int>) {
        for (distance, from) in written.reversed().enumerated() where from != 7 - distance {
            pieces[7 - distance] = pieces[from]
            pieces[from] = 0
        }
    }

    /// The first of the longest runs of two or more zeros, or an empty range.
    fileprivate var longestZeroRun: Range<Int> {
        var longest = 0..<0
        var start = 0
        for index in 0..<8 {
            if pieces[index] != 0 {
                start = index + 1
            } else if index + 1 - start > max(longest.count, 1) {
                longest = start..<index + 1
            }
        }
        return longest
    }
}

extension Span<UInt8> {
    fileprivate func has(_ character: Unicode.Scalar, at offset: Int) -> Bool {
        offset < count && self[offset] == UInt8(ascii: character)
    }
}

extension RewriteBuffer {
    /// Appends the address in its shortest form, with its brackets.
    mutating func append(_ address: IPv6Address, source: Span<UInt8>) {
        append(UInt8(ascii: "["), source: source)
        let zeros = address.longestZeroRun
        var index = 0
        while index < 8 {
            if index == zeros.lowerBound, !zeros.isEmpty {
                append(UInt8(ascii: ":"), source: source)
                append(UInt8(ascii: ":"), source: source)
                index = zeros.upperBound
            } else {
                if index > 0, index != zeros.upperBound || zeros.isEmpty { append(UInt8(ascii: ":"), source: source) }
                append(hexadecimal: address.pieces[index], source: source)
                index += 1
            }
        }
        append(UInt8(ascii: "]"), source: source)
    }

    /// Appends a number in hexadecimal digits without leading zeros.
    private mutating func append(hexadecimal number: UInt16, source: Span<UInt8>) {
        let length = max(1, (16 - number.leadingZeroBitCount + 3) / 4)
        for digit in stride(from: length - 1, through: 0, by: -1) {
            append(.lowercaseHexDigit(UInt8(number >> UInt16(4 * digit) & 15)), source: source)
        }
    }
}
