// SPDX-License-Identifier: Apache-2.0

/// Percent-decoding of a URL's parts.
extension PluginRequest {
    /// Percent-decodes ``path``. In a URL without an authority, this is the text between the scheme and the query:
    /// `greet:big%20world?x` gives `big world`.
    ///
    /// A decoded path can contain `..` and additional slashes. Check them before you use the path in a file system
    /// (SEC-02).
    ///
    /// - Throws: same as ``percentDecode(_:)``.
    public func decodedPath() throws(PluginError) -> String { try Self.percentDecode(path) }

    /// Returns the decoded value of the first `name=value` in ``query``. Empty if the name has no value, `nil` if the
    /// query does not have the name. `name` is compared with the decoded name. A `+` stays a `+`.
    ///
    /// - Throws: same as ``percentDecode(_:)``.
    public func decodedQueryValue(_ name: String) throws(PluginError) -> String? {
        for pair in (query ?? "").split(separator: "&") {
            let encodedName = pair.prefix { $0 != "=" }
            if try Self.percentDecode(encodedName) == name { return try Self.percentDecode(pair.dropFirst(encodedName.count + 1)) }
        }
        return nil
    }

    /// Percent-decodes a part of a URL once, as text: `%2541` gives `%41`. A `+` stays a `+`.
    ///
    /// - Throws: ``PluginError/Code/badURL`` if a `%` is not followed by two hexadecimal digits, or if the result is
    ///   not UTF-8 or contains a NUL, CR or LF, which could end a line or a file name (SEC-01).
    public static func percentDecode(_ part: some StringProtocol) throws(PluginError) -> String {
        guard let text = String(validating: try percentDecodeBytes(part), as: UTF8.self) else {
            throw PluginError(.badURL, message: "a percent-encoded part of the URL is not UTF-8; encode its text in UTF-8")
        }
        guard !text.unicodeScalars.contains(where: { $0 == "\0" || $0 == "\r" || $0 == "\n" }) else {
            throw PluginError(.badURL, message: "the URL contains an encoded NUL, CR or LF; remove %00, %0D and %0A")
        }
        return text
    }

    /// Percent-decodes a part of a URL once, as bytes. Every byte is allowed.
    ///
    /// - Throws: ``PluginError/Code/badURL`` if a `%` is not followed by two hexadecimal digits.
    public static func percentDecodeBytes(_ part: some StringProtocol) throws(PluginError) -> [UInt8] {
        var decoded: [UInt8] = []
        var encoded = Array(part.utf8)[...]
        while let byte = encoded.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                decoded.append(byte)
                continue
            }
            guard let high = encoded.popFirst().flatMap(hexadecimalDigit), let low = encoded.popFirst().flatMap(hexadecimalDigit) else {
                throw PluginError(
                    .badURL, message: "the percent-encoding of the URL is malformed; write two hexadecimal digits after each %")
            }
            decoded.append(high << 4 | low)
        }
        return decoded
    }

    private static func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
