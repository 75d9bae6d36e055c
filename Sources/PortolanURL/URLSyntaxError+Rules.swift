// SPDX-License-Identifier: Apache-2.0

/// The rules, in the order in which a URL is parsed.
///
/// WHATWG URL §1.1, the validation errors that are failures.
extension URLSyntaxError.Rule {
    /// Never reported to a caller: the parser starts again without tabs and newlines.
    static let tabOrNewline = Self("invalid-URL-unit", "it contains a tab or newline", "remove it")

    package static let missingScheme = Self(
        "missing-scheme-non-relative-URL", "it does not start with a scheme and there is no base URL to resolve it against",
        "start it with a scheme such as https:")
    package static let relativeToOpaquePath = Self(
        "relative-to-opaque-path", "it is relative, and its base URL has no hierarchical path",
        "write the whole URL, or only a #fragment")

    package static let hostMissing = Self("host-missing", "the host is missing", "write a host after the //")
    package static let hostInvalidCodePoint = Self(
        "host-invalid-code-point", "the host has a character that no host may have", "remove it or percent-encode it")
    package static let domainInvalidCodePoint = Self(
        "domain-invalid-code-point", "the host has a character that no domain name may have",
        "use letters, digits, dots and hyphens only")

    package static let ipv4TooManyParts = Self(
        "IPv4-too-many-parts", "the IPv4 address has more than four parts", "write it as four numbers from 0 to 255")
    package static let ipv4NonNumericPart = Self(
        "IPv4-non-numeric-part", "the host ends in a number but is not an IPv4 address",
        "write four numbers from 0 to 255, or a domain name that does not end in a number")
    package static let ipv4OutOfRangePart = Self(
        "IPv4-out-of-range-part", "a number of the IPv4 address is too large", "write four numbers from 0 to 255")

    package static let ipv6Unclosed = Self(
        "IPv6-unclosed", "the IPv6 address has no closing bracket", "put ] after it, and nothing between that and the port or path")
    package static let ipv6InvalidCompression = Self(
        "IPv6-invalid-compression", "the IPv6 address starts with a single colon", "start it with a number or with ::")
    package static let ipv6TooManyPieces = Self(
        "IPv6-too-many-pieces", "the IPv6 address has more than eight pieces", "write eight at most, or fewer and one ::")
    package static let ipv6MultipleCompression = Self(
        "IPv6-multiple-compression", "the IPv6 address has more than one ::", "keep one of them")
    package static let ipv6InvalidCodePoint = Self(
        "IPv6-invalid-code-point", "the IPv6 address has something other than hexadecimal pieces of up to four digits",
        "write such pieces with colons between them, and no zone")
    package static let ipv6TooFewPieces = Self(
        "IPv6-too-few-pieces", "the IPv6 address has fewer than eight pieces", "write eight, or put :: where zeros are left out")
    package static let ipv4InIPv6TooManyPieces = Self(
        "IPv4-in-IPv6-too-many-pieces", "there is no room for an IPv4 address after six pieces of the IPv6 address",
        "write six pieces at most before it")
    package static let ipv4InIPv6InvalidCodePoint = Self(
        "IPv4-in-IPv6-invalid-code-point", "the IPv4 address within the IPv6 address is malformed",
        "write four decimal numbers from 0 to 255 without leading zeros")
    package static let ipv4InIPv6OutOfRangePart = Self(
        "IPv4-in-IPv6-out-of-range-part", "a number of the IPv4 address within the IPv6 address is above 255",
        "write four numbers from 0 to 255")
    package static let ipv4InIPv6TooFewParts = Self(
        "IPv4-in-IPv6-too-few-parts", "the IPv4 address within the IPv6 address has fewer than four parts",
        "write four numbers from 0 to 255")

    package static let portInvalid = Self(
        "port-invalid", "the port is not a decimal number", "write digits only after the colon")
    package static let portOutOfRange = Self("port-out-of-range", "the port is above 65535", "write a number from 0 to 65535")
}
