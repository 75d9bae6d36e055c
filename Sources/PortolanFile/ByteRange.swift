// SPDX-License-Identifier: Apache-2.0

/// The one range of bytes that a `Range` field requests.
///
/// RFC 9110 §14.1.2
package enum ByteRange: Hashable, Sendable {
    /// From the first byte to the last, both included; `nil` means to the end.
    case from(_ first: Int64, through: Int64?)
    /// The given number of bytes at the end.
    case suffix(Int64)

    /// - Returns: `nil` if the field must or may be ignored (RFC 9110 §14.2): a unit other than bytes, a malformed
    ///   value, or several ranges, which would need a body of several parts.
    package init?(fieldValue: String) {
        let halves = fieldValue.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard halves.count == 2, halves[0].lowercased() == "bytes" else { return nil }
        // A list may have empty members (RFC 9110 §5.6.1.2).
        let members = halves[1].split(separator: ",").map { Self.trimmed($0) }.filter { !$0.isEmpty }
        guard members.count == 1, let dash = members[0].firstIndex(of: "-") else { return nil }
        let (head, tail) = (members[0][..<dash], members[0][members[0].index(after: dash)...])
        switch (Self.number(head), Self.number(tail)) {
        case (let first?, nil) where tail.isEmpty: self = .from(first, through: nil)
        case (let first?, let last?) where first <= last: self = .from(first, through: last)
        case (nil, let count?) where head.isEmpty: self = .suffix(count)
        default: return nil
        }
    }

    package enum Resolution: Hashable, Sendable {
        case part(Range<Int64>)
        /// The suffix of an empty file. It is satisfiable but has no `Content-Range`.
        case whole
        case notSatisfiable
    }

    /// The bytes that the range selects from a total of `size` bytes.
    package func resolved(in size: Int64) -> Resolution {
        switch self {
        case .suffix(0): .notSatisfiable
        case .suffix(let count): size == 0 ? .whole : .part(max(size - count, 0)..<size)
        case .from(let first, through: let last):
            first < size ? .part(first..<min(last ?? .max, size - 1) + 1) : .notSatisfiable
        }
    }

    /// Accepts decimal digits only. No file is larger than `Int64`, so a larger number counts as the largest.
    private static func number(_ text: Substring) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let first = text.firstIndex(where: { !isSpace($0) }), let last = text.lastIndex(where: { !isSpace($0) }) else { return "" }
        return text[first...last]
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
