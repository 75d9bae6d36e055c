// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Numbers of seconds in fields and directives, and arithmetic with times that a peer controls.
enum DeltaSeconds {
    /// The largest number of seconds. A larger one counts as this one.
    ///
    /// RFC 9111 §1.2.2
    static let largest: Int64 = 1 << 31

    /// Parses a number that has only digits; `nil` for anything else, such as `-1`, `1.0` or no octets.
    static func parse(_ octets: Span<UInt8>) -> Int64? {
        DecimalDigits.number(octets, upTo: largest)
    }

    /// The sum of two numbers. A sum that can't be represented is the nearest number that can.
    static func sum(_ a: Int64, _ b: Int64) -> Int64 {
        let (sum, isOverflow) = a.addingReportingOverflow(b)
        return isOverflow ? (b > 0 ? .max : .min) : sum
    }

    /// The difference of two times. A difference that can't be represented is the nearest number that can.
    static func difference(_ a: Int64, _ b: Int64) -> Int64 {
        let (difference, isOverflow) = a.subtractingReportingOverflow(b)
        return isOverflow ? (b > 0 ? .min : .max) : difference
    }
}
