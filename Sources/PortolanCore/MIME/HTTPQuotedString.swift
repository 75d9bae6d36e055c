// SPDX-License-Identifier: Apache-2.0

/// Text between double quotes, in which a backslash escapes the next code point.
///
/// Source: WHATWG Fetch, "collect an HTTP quoted string"; RFC 9110 §5.6.4 is stricter.
enum HTTPQuotedString {
    /// Collects the value of the quoted string that starts at `position`, and moves `position` past it.
    ///
    /// A string without a closing quote ends at the end of the bytes. A backslash as the last byte is part of the
    /// value.
    ///
    /// - Parameter position: The index of the opening quote; after the call, the index after the closing quote, or the
    ///   end.
    static func collectValue(in utf8: Span<UInt8>, at position: inout Int) -> [UInt8] {
        var value: [UInt8] = []
        position += 1  // the opening quote
        while position < utf8.count {
            let byte = utf8[position]
            position += 1
            switch byte {
            case ASCII.quote:
                return value
            case ASCII.backslash where position < utf8.count:
                // This can be the first byte of a code point of several bytes. The loop appends the other bytes, which
                // are neither quote nor backslash.
                value.append(utf8[position])
                position += 1
            default:
                value.append(byte)
            }
        }
        return value
    }

    /// Appends the value to the text in quotes, with a backslash before each quote and backslash.
    static func append(_ value: String, to text: inout String) {
        text.append("\"")
        for scalar in value.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { text.append("\\") }
            text.unicodeScalars.append(scalar)
        }
        text.append("\"")
    }
}
