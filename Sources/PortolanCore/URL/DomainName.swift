// SPDX-License-Identifier: Apache-2.0

/// Turns the domain of a special URL into the ASCII form in which it is serialised and looked up.
enum DomainName {
    /// Percent-decodes a domain, puts it in lower case, and checks that no forbidden character is in it. A domain that is not ASCII goes
    /// through UTS 46 in between. One that is does not, even with `xn--` labels: sites exist whose `xn--` labels are not valid Punycode,
    /// and the standard returns every ASCII domain in lower case for their sake.
    ///
    /// - Throws: `.domainInvalidCodePoint`; the rules whose names start with "domain-to-ASCII".
    ///
    /// WHATWG URL §3.3
    static func ascii(_ range: Range<Int>, of source: Span<UInt8>) throws(URLParser.Failure) -> [UInt8] {
        var domain: [UInt8] = []
        domain.reserveCapacity(range.count)
        var isASCII = true
        var firstForbidden: Int?
        var offset = range.lowerBound
        while offset < range.upperBound {
            let (byte, length) = decodedByte(at: offset, limit: range.upperBound, of: source)
            if byte >= 0x80 {
                isASCII = false
            } else if firstForbidden == nil, ByteSet.forbiddenInDomain.contains(byte) {
                firstForbidden = offset
            }
            domain.append(byte.lowercasedASCII)
            offset += length
        }
        if isASCII {
            if let firstForbidden { throw URLParser.Failure(.domainInvalidCodePoint, at: firstForbidden) }
            return domain
        }

        let result: [UInt8]
        do throws(IDNA.Failure) {
            result = try IDNA.ascii(String(decoding: domain, as: UTF8.self))
        } catch {
            let offset = sourceOffset(ofDecoded: error.offset, in: range, of: source)
            throw URLParser.Failure(URLSyntaxError.Rule(error.violation), at: offset)
        }
        // Only now: "<" and a combining stroke are one character that is allowed, and one that is allowed may be mapped to several that are not.
        if result.contains(where: ByteSet.forbiddenInDomain.contains) {
            throw URLParser.Failure(.domainInvalidCodePoint, at: firstForbidden ?? range.lowerBound)
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

    /// Where the byte stands in the source that is `number`th when it is percent-decoded.
    private static func sourceOffset(ofDecoded number: Int, in range: Range<Int>, of source: Span<UInt8>) -> Int {
        var offset = range.lowerBound
        for _ in 0..<number where offset < range.upperBound {
            offset += decodedByte(at: offset, limit: range.upperBound, of: source).length
        }
        return min(offset, range.upperBound)
    }
}
