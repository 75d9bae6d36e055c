// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A parsed `Set-Cookie` field: the name and the value as bytes, and the known attributes.
///
/// RFC 6265bis §5.6
package struct SetCookie: Hashable, Sendable {
    package var name: [UInt8]
    package var value: [UInt8]
    /// The last `Expires` that is a date, in seconds since 1970.
    package var expires: Int64?
    /// The last valid `Max-Age`, in seconds.
    package var maxAge: Int64?
    /// The last `Domain`, in lower case and without a leading dot. If it is missing or empty, the cookie is host-only.
    package var domain: [UInt8]?
    /// The last `Path`. If it is missing or does not begin with a slash, the default path applies.
    package var path: [UInt8]?
    package var isSecure = false
    package var isHTTPOnly = false
    package var sameSite: Cookie.SameSite?
    package var isPartitioned = false

    /// The largest number of bytes in a name and a value together.
    package static let contentLimit = 4096
    /// The largest number of bytes in the value of an attribute. A longer attribute is ignored.
    package static let attributeLimit = 1024

    /// - Throws: the reason why the whole field is ignored.
    package init(parsing field: Span<UInt8>) throws(CookieRejection) {
        for index in field.indices where Self.isControl(field[index]) { throw .controlCharacter }
        var rest = 0..<field.count
        let pair = field.trimmedBlanks(Self.nextPart(of: field, &rest))
        if let equals = field.firstIndex(of: UInt8(ascii: "="), in: pair) {
            name = field.bytes(field.trimmedBlanks(pair.lowerBound..<equals))
            value = field.bytes(field.trimmedBlanks(equals + 1..<pair.upperBound))
        } else {
            name = []
            value = field.bytes(pair)
        }
        if name.isEmpty, value.isEmpty { throw .empty }
        if name.count + value.count > Self.contentLimit { throw .tooLarge }
        while !rest.isEmpty { parseAttribute(field, Self.nextPart(of: field, &rest)) }
    }

    /// Returns the part before the next semicolon, and removes both from `rest`.
    private static func nextPart(of field: Span<UInt8>, _ rest: inout Range<Int>) -> Range<Int> {
        let end = field.firstIndex(of: UInt8(ascii: ";"), in: rest) ?? rest.upperBound
        let part = rest.lowerBound..<end
        rest = min(end + 1, rest.upperBound)..<rest.upperBound
        return part
    }

    private mutating func parseAttribute(_ field: Span<UInt8>, _ part: Range<Int>) {
        let equals = field.firstIndex(of: UInt8(ascii: "="), in: part)
        let name = field.extracting(field.trimmedBlanks(part.lowerBound..<(equals ?? part.upperBound)))
        let range = field.trimmedBlanks(min((equals ?? part.upperBound) + 1, part.upperBound)..<part.upperBound)
        guard range.count <= Self.attributeLimit else { return }
        let value = field.extracting(range)
        if name.equalsIgnoringCase("expires") {
            expires = CookieDate.seconds(in: value) ?? expires
        } else if name.equalsIgnoringCase("max-age") {
            maxAge = Self.age(value) ?? maxAge
        } else if name.equalsIgnoringCase("domain") {
            let hasDot = !value.isEmpty && value[0] == UInt8(ascii: ".")
            domain = field.bytes(range.lowerBound + (hasDot ? 1 : 0)..<range.upperBound).map(\.lowercasedASCII)
        } else if name.equalsIgnoringCase("path") {
            path = field.bytes(range)
        } else if name.equalsIgnoringCase("secure") {
            isSecure = true
        } else if name.equalsIgnoringCase("httponly") {
            isHTTPOnly = true
        } else if name.equalsIgnoringCase("samesite") {
            sameSite =
                value.equalsIgnoringCase("none")
                ? Cookie.SameSite.none : value.equalsIgnoringCase("strict") ? .strict : value.equalsIgnoringCase("lax") ? .lax : nil
        } else if name.equalsIgnoringCase("partitioned") {
            isPartitioned = true
        }
    }

    /// The value of a `Max-Age`: digits, possibly after a minus sign. A number that is too large is reduced.
    private static func age(_ value: Span<UInt8>) -> Int64? {
        let isNegative = !value.isEmpty && value[0] == UInt8(ascii: "-")
        let digits = value.extracting((isNegative ? 1 : 0)..<value.count)
        return DecimalDigits.number(digits, upTo: .max).map { isNegative ? -$0 : $0 }
    }

    /// Whether the byte is a control character other than a tab.
    package static func isControl(_ byte: UInt8) -> Bool { (byte < 0x20 && byte != 0x09) || byte == 0x7F }
}

/// Why a cookie is not stored. Cases of RFC 6265bis name their section.
package enum CookieRejection: String, Error, Hashable, Sendable {
    case controlCharacter = "it has a control character (RFC 6265bis §5.6)"
    case empty = "its name and its value are empty (RFC 6265bis §5.7)"
    case tooLarge = "its name and its value have more than 4096 bytes together (RFC 6265bis §5.7)"
    case domainNotASCII = "its domain has a character that is not ASCII (RFC 6265bis §5.7)"
    case publicSuffix = "its domain is a public suffix (RFC 6265bis §5.7)"
    case foreignDomain = "its domain does not match the host (RFC 6265bis §5.7)"
    case insecureOrigin = "it is secure, but the connection is not (RFC 6265bis §5.7)"
    case httpOnly = "it is for HTTP only (RFC 6265bis §5.7)"
    case overSecureCookie = "a secure cookie of that name exists, and the connection is not secure (RFC 6265bis §5.7)"
    case crossSite = "it is for the same site, and the request was cross-site (RFC 6265bis §5.7)"
    case sameSiteNoneNotSecure = "'SameSite=None' needs 'Secure' (RFC 6265bis §5.7)"
    case securePrefix = "a name that begins with '__Secure-' needs 'Secure' (RFC 6265bis §5.7)"
    case hostPrefix = "a name that begins with '__Host-' needs 'Secure', 'Path=/' and no domain (RFC 6265bis §5.7)"
    case namelessPrefix = "it has no name, and a value that looks like a name with a prefix (RFC 6265bis §5.7)"
    case partitionedNotSecure = "a partitioned cookie needs 'Secure' (CHIPS)"
    case policy = "the accept policy forbids it"
}
