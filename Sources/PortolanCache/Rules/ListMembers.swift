// SPDX-License-Identifier: Apache-2.0

import PortolanHTTPSyntax

/// Iterates over the members of a comma-separated list, without the blanks around them. Empty members are included.
///
/// A comma within a quoted string does not separate members. A quote that is never closed is an ordinary octet, so
/// that it can't hide the rest of the list.
///
/// RFC 9110 §5.6.1
struct ListMembers {
    private let hasEscapes: Bool
    private var position: Int? = 0
    private var hasClosingQuote = true

    /// - Parameter hasEscapes: whether a backslash escapes the next octet of a quoted string. In entity tags it does
    ///   not.
    init(hasEscapes: Bool = true) { self.hasEscapes = hasEscapes }

    mutating func next(in value: Span<UInt8>) -> Range<Int>? {
        guard var end = position else { return nil }
        let start = end
        while end < value.count, value[end] != .listComma {
            if value[end] == .quote, let closing = closingQuote(after: end, in: value) { end = closing }
            end += 1
        }
        position = end < value.count ? end + 1 : nil
        return value.trimmed(start..<end)
    }

    private mutating func closingQuote(after quote: Int, in value: Span<UInt8>) -> Int? {
        guard hasClosingQuote else { return nil }
        var index = quote + 1
        while index < value.count {
            if value[index] == .quote { return index }
            index += hasEscapes && value[index] == .backslash ? 2 : 1
        }
        hasClosingQuote = false
        return nil
    }
}

extension UInt8 {
    static let listComma = UInt8(ascii: ",")
}

extension Span<UInt8> {
    func octets(_ range: Range<Int>) -> [UInt8] { range.map { self[$0] } }

    /// The content of a quoted string without its escapes; `nil` if the octets are no quoted string.
    ///
    /// RFC 9110 §5.6.4
    func unquoted(_ range: Range<Int>) -> [UInt8]? {
        guard range.count >= 2, self[range.lowerBound] == .quote else { return nil }
        var octets: [UInt8] = []
        var index = range.lowerBound + 1
        while index < range.upperBound {
            if self[index] == .quote { return index == range.upperBound - 1 ? octets : nil }
            if self[index] == .backslash { index += 1 }
            guard index < range.upperBound else { return nil }
            octets.append(self[index])
            index += 1
        }
        return nil
    }
}
