// SPDX-License-Identifier: Apache-2.0

/// The byte range of a response and the size of the whole resource.
///
/// RFC 9110 §14.4
struct ContentRange: Equatable {
    /// `nil` if the response rejects the request's range, as in `bytes */200`.
    let bytes: ClosedRange<Int64>?
    /// `nil` if the server does not know the size.
    let size: Int64?

    init?(parsing value: String) {
        let words = value.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        guard parts[1] == "*" || Self.number(parts[1]) != nil else { return nil }
        size = Self.number(parts[1])
        if parts[0] == "*" {
            guard size != nil else { return nil }
            bytes = nil
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last, last < size ?? .max
        else { return nil }
        bytes = first...last
    }

    private static func number(_ text: Substring) -> Int64? {
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        return Int64(text)
    }
}
