// SPDX-License-Identifier: Apache-2.0

/// Decodes base64 as the web does. White space is ignored everywhere, padding may be missing, and bits beyond the last
/// byte are dropped.
///
/// Source: WHATWG Infra, section 7, "forgiving-base64 decode".
public enum ForgivingBase64 {
    /// Decodes the text.
    ///
    /// - Throws: The fault in the text and its position, before anything is decoded.
    public static func decode(_ text: String) throws(Base64Error) -> [UInt8] {
        try decode(text.utf8.span)
    }

    /// Decodes text in ASCII or any superset of it.
    ///
    /// - Throws: The fault in the text and its position, before anything is decoded.
    public static func decode(_ text: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        let layout = try Base64Layout(validating: Base64Text(range: text.indices, isPercentEncoded: false), in: text)
        var decoder = Base64Decoder(layout)
        var bytes = [UInt8](repeating: 0, count: layout.decodedCount)
        var buffer = bytes.mutableSpan
        let count = decoder.decode(text, into: &buffer)
        assert(count == layout.decodedCount)
        return bytes
    }
}
