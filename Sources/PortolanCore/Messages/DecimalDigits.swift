// SPDX-License-Identifier: Apache-2.0

/// Numbers as HTTP fields have them: at least one decimal digit, without a sign, blanks or other octets.
///
/// RFC 9110 §5.6.1 (`1*DIGIT`); RFC 9111 §1.2.2 (`delta-seconds`)
package enum DecimalDigits {
    /// - Returns: `nil` if the octets are not a number, or if the number is larger than `Int64.max`.
    package static func number(_ octets: Span<UInt8>) -> Int64? {
        guard let (number, isTooLarge) = parse(octets), !isTooLarge else { return nil }
        return number
    }

    /// - Parameter largest: the result for any larger number.
    /// - Returns: `nil` if the octets are not a number.
    package static func number(_ octets: Span<UInt8>, upTo largest: Int64) -> Int64? {
        parse(octets).map { min($0.number, largest) }
    }

    /// - Returns: `Int64.max` for a number that is too large.
    private static func parse(_ octets: Span<UInt8>) -> (number: Int64, isTooLarge: Bool)? {
        guard !octets.isEmpty else { return nil }
        var number: Int64 = 0
        var isTooLarge = false
        for index in octets.indices {
            let digit = octets[index] &- 0x30
            guard digit < 10 else { return nil }
            let (tenfold, exceedsMax) = number.multipliedReportingOverflow(by: 10)
            let (sum, sumExceedsMax) = tenfold.addingReportingOverflow(Int64(digit))
            isTooLarge = isTooLarge || exceedsMax || sumExceedsMax
            number = isTooLarge ? .max : sum
        }
        return (number, isTooLarge)
    }
}
