// SPDX-License-Identifier: Apache-2.0

/// An IPv4 address as the host of a special URL. The text may have fewer than four parts, and parts in octal or
/// hexadecimal.
///
/// WHATWG URL §3.5
struct IPv4Address: Sendable, Hashable {
    let value: UInt32

    /// Parses a domain whose last label is a number.
    ///
    /// - Returns: nil for a domain that does not end in a number, and is therefore a name.
    /// - Throws: the violated rule, at `offset`, the position of the domain in the URL.
    init?(domain: Span<UInt8>, at offset: Int) throws(URLParser.Failure) {
        guard let lastLabel = domain.lastLabel, domain.isNumber(lastLabel) else { return nil }

        var value: UInt64 = 0
        var parts: UInt64 = 0
        var start = 0
        while start < lastLabel.upperBound {
            let label = start..<domain.endOfLabel(from: start, limit: lastLabel.upperBound)
            if parts == 4 { throw URLParser.Failure(.ipv4TooManyParts, at: offset) }
            guard let part = domain.numericValue(of: label) else { throw URLParser.Failure(.ipv4NonNumericPart, at: offset) }
            // The last part fills all bytes that the other parts leave.
            let isLast = label.upperBound == lastLabel.upperBound
            let bits = isLast ? 8 * (4 - parts) : 8
            if part >= 1 << bits { throw URLParser.Failure(.ipv4OutOfRangePart, at: offset) }
            value = value << bits | part
            parts += 1
            start = label.upperBound + 1
        }
        self.value = UInt32(truncatingIfNeeded: value)
    }
}

extension Span<UInt8> {
    /// The last label, without a single dot at the end; nil if there is no label.
    fileprivate var lastLabel: Range<Int>? {
        var end = count
        if end > 0, self[end - 1] == UInt8(ascii: ".") { end -= 1 }
        var start = end
        while start > 0, self[start - 1] != UInt8(ascii: ".") { start -= 1 }
        return start < end ? start..<end : nil
    }

    fileprivate func endOfLabel(from start: Int, limit: Int) -> Int {
        var end = start
        while end < limit, self[end] != UInt8(ascii: ".") { end += 1 }
        return end
    }

    /// Whether a label is read as a number, even one with digits that its base does not have, such as 08.
    fileprivate func isNumber(_ label: Range<Int>) -> Bool {
        label.allSatisfy { self[$0].isASCIIDigit } || numericValue(of: label) != nil
    }

    /// The value of a decimal, octal (0…) or hexadecimal (0x…) number, or nil. A huge value is reduced to 2⁴⁰.
    fileprivate func numericValue(of label: Range<Int>) -> UInt64? {
        if label.isEmpty { return nil }
        var digits = label
        var radix: UInt64 = 10
        if label.count >= 2, self[label.lowerBound] == UInt8(ascii: "0") {
            digits.removeFirst()
            radix = 8
            if self[label.lowerBound + 1] | 0x20 == UInt8(ascii: "x") {
                digits.removeFirst()
                radix = 16
            }
        }
        var value: UInt64 = 0
        for offset in digits {
            guard let digit = self[offset].hexDigitValue, digit < radix else { return nil }
            value = Swift.min(value * radix + UInt64(digit), 1 << 40)
        }
        return value
    }
}

extension RewriteBuffer {
    /// Appends the address as four decimal numbers.
    mutating func append(_ address: IPv4Address, source: Span<UInt8>) {
        for shift in stride(from: 24, through: 0, by: -8) {
            append(decimal: address.value >> UInt32(shift) & 255, source: source)
            if shift > 0 { append(UInt8(ascii: "."), source: source) }
        }
    }
}
