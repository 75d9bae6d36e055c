// SPDX-License-Identifier: Apache-2.0

package import HTTPTypes

/// One range of bytes that a `Range` field requests.
///
/// RFC 9110 §14.1.2
package enum ByteRange: Hashable, Sendable {
    /// From the first byte to the last, both included; `nil` means to the end.
    case from(_ first: Int64, through: Int64?)
    /// The given number of bytes at the end.
    case suffix(Int64)

    /// The largest number of ranges in a request. A field with more is ignored, as RFC 9110 §17.15 recommends.
    package static let limit = 32

    /// The ranges in the `Range` field of a request.
    ///
    /// - Returns: `nil` if the field must or may be ignored (RFC 9110 §14.2): it is absent, malformed or repeated, or
    ///   has another unit or too many ranges.
    package static func requested(by fields: HTTPFields) -> [ByteRange]? {
        let values = fields[fields: .range]
        guard values.count == 1, let value = values.first else { return nil }
        return unsafe value.withUnsafeBytesOfValue { unsafe parse($0.span) }
    }

    /// Parses the value of a `Range` field.
    private static func parse(_ value: Span<UInt8>) -> [ByteRange]? {
        guard value.count > 6, value[5] == UInt8(ascii: "="), value.extracting(0..<5).isBytesUnit else { return nil }
        var ranges: [ByteRange] = []
        var start = 6
        for index in 6...value.count where index == value.count || value[index] == UInt8(ascii: ",") {
            let member = value.extracting(value.trimmedBlanks(start..<index))
            start = index + 1
            // A list may have empty members (RFC 9110 §5.6.1.2).
            if member.isEmpty { continue }
            guard ranges.count < limit, let range = ByteRange(member) else { return nil }
            ranges.append(range)
        }
        return ranges.isEmpty ? nil : ranges
    }

    /// No representation is larger than `Int64`, so a larger number counts as `Int64.max`.
    private init?(_ member: Span<UInt8>) {
        guard let dash = member.firstIndex(of: UInt8(ascii: "-")) else { return nil }
        let (head, tail) = (member.extracting(0..<dash), member.extracting(dash + 1..<member.count))
        switch (DecimalDigits.number(head, upTo: .max), DecimalDigits.number(tail, upTo: .max)) {
        case (let first?, nil) where tail.isEmpty: self = .from(first, through: nil)
        case (let first?, let last?) where first <= last: self = .from(first, through: last)
        case (nil, let count?) where head.isEmpty: self = .suffix(count)
        default: return nil
        }
    }

    package enum Resolution: Hashable, Sendable {
        case part(Range<Int64>)
        /// The suffix of an empty representation. It is satisfiable but has no `Content-Range`.
        case whole
        case notSatisfiable
    }

    /// The bytes that the range selects from a total of `size` bytes.
    package func resolved(in size: Int64) -> Resolution {
        switch self {
        case .suffix(let count):
            guard count > 0, size >= 0 else { return .notSatisfiable }
            return size == 0 ? .whole : .part(max(size - count, 0)..<size)
        case .from(let first, through: let last):
            guard first >= 0, first < size, first <= last ?? .max else { return .notSatisfiable }
            return .part(first..<min(last ?? .max, size - 1) + 1)
        }
    }
}

extension ByteRange: CustomStringConvertible {
    package var description: String {
        switch self {
        case .from(let first, through: nil): "bytes=\(first)-"
        case .from(let first, through: let last?): "bytes=\(first)-\(last)"
        case .suffix(let count): "bytes=-\(count)"
        }
    }
}

extension Span<UInt8> {
    /// Whether the octets are `bytes`, the name of the range unit, in any case.
    var isBytesUnit: Bool {
        guard count == 5 else { return false }
        for (index, octet) in "bytes".utf8.enumerated() where self[index] | 0x20 != octet { return false }
        return true
    }

    func firstIndex(of octet: UInt8) -> Int? {
        for index in indices where self[index] == octet { return index }
        return nil
    }

    /// `range` without the spaces and tabs at both ends.
    fileprivate func trimmedBlanks(_ range: Range<Int>) -> Range<Int> {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
        while end > start, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
        return start..<end
    }
}
