// SPDX-License-Identifier: Apache-2.0

/// Turns the domain of a special URL into the ASCII form in which it is serialised and looked up.
enum DomainName {
    /// Percent-decodes a domain, puts it in lower case, and checks that no forbidden character is in it.
    ///
    /// This is the place where UTS 46 will go: it maps domains beyond ASCII to their `xn--` form, and checks the labels that are written
    /// so, which are taken here as they are.
    ///
    /// - Throws: `.internationalDomain` for a domain beyond ASCII; `.domainInvalidCodePoint`.
    ///
    /// WHATWG URL §3.3
    static func ascii(_ range: Range<Int>, of source: Span<UInt8>) throws(URLParser.Failure) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(range.count)
        var offset = range.lowerBound
        while offset < range.upperBound {
            let (byte, length) = decodedByte(at: offset, limit: range.upperBound, of: source)
            if byte >= 0x80 { throw URLParser.Failure(.internationalDomain, at: offset) }
            if ByteSet.forbiddenInDomain.contains(byte) { throw URLParser.Failure(.domainInvalidCodePoint, at: offset) }
            result.append(byte.lowercasedASCII)
            offset += length
        }
        return result
    }

    /// The byte that stands at an offset, percent-encoded or not, and how many bytes it takes there.
    private static func decodedByte(at offset: Int, limit: Int, of source: Span<UInt8>) -> (byte: UInt8, length: Int) {
        let byte = source[offset]
        guard byte == UInt8(ascii: "%"), offset + 2 < limit,
            let high = source[offset + 1].hexDigitValue, let low = source[offset + 2].hexDigitValue
        else { return (byte, 1) }
        return (high << 4 | low, 3)
    }
}
