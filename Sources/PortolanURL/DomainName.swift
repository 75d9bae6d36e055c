// SPDX-License-Identifier: Apache-2.0

/// Converts the domain of a special URL to the ASCII form in which it is serialised and looked up.
enum DomainName {
    /// Percent-decodes a domain, converts it to lower case, and checks that it contains no forbidden character. A
    /// domain that is not ASCII is also converted by UTS 46. An ASCII domain is not, even with `xn--` labels, because
    /// some sites have `xn--` labels that are not valid Punycode.
    ///
    /// - Throws: `.domainInvalidCodePoint`, or a rule whose name starts with "domain-to-ASCII".
    ///
    /// WHATWG URL §3.3
    static func ascii(_ range: Range<Int>, of source: Span<UInt8>) throws(URLParser.Failure) -> [UInt8] {
        var domain: [UInt8] = []
        domain.reserveCapacity(range.count)
        var isASCII = true
        var firstForbiddenOffset: Int?
        var offset = range.lowerBound
        while offset < range.upperBound {
            let (byte, length) = decodedByte(at: offset, limit: range.upperBound, of: source)
            if byte >= 0x80 {
                isASCII = false
            } else if firstForbiddenOffset == nil, ByteSet.forbiddenInDomain.contains(byte) {
                firstForbiddenOffset = offset
            }
            domain.append(byte.lowercasedASCII)
            offset += length
        }
        if isASCII {
            if let firstForbiddenOffset { throw URLParser.Failure(.domainInvalidCodePoint, at: firstForbiddenOffset) }
            return domain
        }

        let result: [UInt8]
        do throws(IDNA.Failure) {
            result = try IDNA.ascii(String(decoding: domain, as: UTF8.self))
        } catch {
            let offset = sourceOffset(ofDecoded: error.offset, in: range, of: source)
            throw URLParser.Failure(URLSyntaxError.Rule(error.violation), at: offset)
        }
        // The result is checked, and not the source: "<" and a combining stroke form one allowed character, and an
        // allowed character can be mapped to several characters that are not allowed.
        if result.contains(where: ByteSet.forbiddenInDomain.contains) {
            throw URLParser.Failure(.domainInvalidCodePoint, at: firstForbiddenOffset ?? range.lowerBound)
        }
        return result
    }

    /// The byte at an offset, decoded if it is percent-encoded, and its length in the source.
    private static func decodedByte(at offset: Int, limit: Int, of source: Span<UInt8>) -> (byte: UInt8, length: Int) {
        let byte = source[offset]
        guard byte == UInt8(ascii: "%"), offset + 2 < limit,
            let high = source[offset + 1].hexDigitValue, let low = source[offset + 2].hexDigitValue
        else { return (byte, 1) }
        return (high << 4 | low, 3)
    }

    /// The offset in the source of the byte that has the index `decodedIndex` after percent-decoding.
    private static func sourceOffset(ofDecoded decodedIndex: Int, in range: Range<Int>, of source: Span<UInt8>) -> Int {
        var offset = range.lowerBound
        for _ in 0..<decodedIndex where offset < range.upperBound {
            offset += decodedByte(at: offset, limit: range.upperBound, of: source).length
        }
        return min(offset, range.upperBound)
    }
}
