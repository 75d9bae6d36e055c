// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import PortolanHTTPSyntax

/// One range of a `Range` field.
///
/// RFC 9110 §14.1.2
package enum RequestedRange: Hashable, Sendable {
    /// From the first octet to the last one, both included; `nil` for the end of the representation.
    case from(Int64, through: Int64?)
    /// The last octets of the representation.
    case last(Int64)

    /// The octets of a representation with this length; `nil` if there are none.
    package func resolved(length: Int64) -> Range<Int64>? {
        switch self {
        case .from(let first, through: let last):
            guard 0 <= first, first < length, last.map({ $0 >= first }) ?? true else { return nil }
            return first..<min(last ?? .max, length - 1) + 1
        case .last(let count):
            guard count > 0, length > 0 else { return nil }
            return max(0, length - count)..<length
        }
    }
}

/// Parses `Range` and `Content-Range`.
package enum ByteRangeSyntax {
    /// The largest number of ranges in a request. A field with more is ignored, as RFC 9110 §17.15 recommends.
    package static let limit = 32

    /// Parses the `Range` field of a request.
    ///
    /// - Returns: `nil` if the field is absent, malformed, repeated or has another unit. A server ignores such a field
    ///   (RFC 9110 §14.2).
    package static func requestedRanges(in fields: HTTPFields) -> [RequestedRange]? {
        guard fields[fields: .range].count == 1, let octets = fields.firstOctets(of: .range) else { return nil }
        let value = octets.span
        guard let equals = octets.firstIndex(of: .equals), value.extracting(0..<equals).equalsIgnoringCase("bytes") else { return nil }
        let list = value.extracting(equals + 1..<value.count)
        var ranges: [RequestedRange] = []
        var members = ListMembers()
        while let member = members.next(in: list) {
            if member.isEmpty { continue }
            guard ranges.count < limit, let range = requestedRange(list.extracting(member)) else { return nil }
            ranges.append(range)
        }
        return ranges.isEmpty ? nil : ranges
    }

    private static func requestedRange(_ text: Span<UInt8>) -> RequestedRange? {
        guard let dash = dash(in: text) else { return nil }
        let (first, last) = (text.extracting(0..<dash), text.extracting(dash + 1..<text.count))
        if first.isEmpty { return number(last).map(RequestedRange.last) }
        guard let start = number(first) else { return nil }
        if last.isEmpty { return .from(start, through: nil) }
        guard let end = number(last), end >= start else { return nil }
        return .from(start, through: end)
    }

    /// The octets in a 206 response, and the length of the complete representation; `nil` for an unknown length.
    ///
    /// RFC 9110 §14.4
    package struct ContentRange: Hashable, Sendable {
        package let range: Range<Int64>
        package let completeLength: Int64?
    }

    /// Parses the `Content-Range` field of a 206 response.
    ///
    /// - Returns: `nil` if the field is absent, malformed, repeated, has another unit, or has no octets.
    package static func contentRange(in fields: HTTPFields) -> ContentRange? {
        guard fields[fields: .contentRange].count == 1, let octets = fields.firstOctets(of: .contentRange) else { return nil }
        let value = octets.span
        guard let blank = octets.firstIndex(of: UInt8(ascii: " ")), value.extracting(0..<blank).equalsIgnoringCase("bytes"),
            let slash = octets.firstIndex(of: UInt8(ascii: "/")), slash > blank
        else { return nil }
        let (text, length) = (value.extracting(blank + 1..<slash), value.extracting(slash + 1..<value.count))
        guard let dash = dash(in: text), let first = number(text.extracting(0..<dash)),
            let last = number(text.extracting(dash + 1..<text.count)), first <= last
        else { return nil }
        if length.count == 1, length[0] == UInt8(ascii: "*") { return ContentRange(range: first..<last + 1, completeLength: nil) }
        guard let completeLength = number(length), last < completeLength else { return nil }
        return ContentRange(range: first..<last + 1, completeLength: completeLength)
    }

    private static func dash(in text: Span<UInt8>) -> Int? {
        text.indices.first { text[$0] == UInt8(ascii: "-") }
    }

    /// A position or a length. `nil` for a number that is larger than any representation.
    static func number(_ digits: Span<UInt8>) -> Int64? {
        guard !digits.isEmpty else { return nil }
        var number: Int64 = 0
        for index in digits.indices {
            guard digits[index].isDecimalDigit, number <= largest / 10 else { return nil }
            number = number * 10 + Int64(digits[index] &- 0x30)
        }
        return number
    }

    /// Far below the largest `Int64`, so that a position plus one never overflows.
    private static let largest: Int64 = .max / 16
}
