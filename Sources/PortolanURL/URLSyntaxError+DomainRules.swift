// SPDX-License-Identifier: Apache-2.0

/// The rules for domains beyond ASCII.
///
/// The standard has one name for all of them, domain-to-ASCII. Portolan defines the rest of each name.
///
/// WHATWG URL §1.1, UTS 46 §4
extension URLSyntaxError.Rule {
    package static let domainDisallowedCodePoint = Self(
        "domain-to-ASCII-disallowed",
        "the host has a character that no internationalised domain name may have, or bytes that are not UTF-8",
        "remove or replace the character")
    package static let domainInvalidPunycode = Self(
        "domain-to-ASCII-punycode", "a label of the host starts with xn-- but is not the Punycode of non-ASCII text",
        "correct the label, or write it in Unicode")
    package static let domainUnmappedPunycode = Self(
        "domain-to-ASCII-unmapped", "an xn-- label of the host decodes to a text that no domain name may have in this form",
        "write the label in Unicode, in small letters and normalised (NFC)")
    package static let domainLeadingMark = Self(
        "domain-to-ASCII-leading-mark", "a label of the host starts with a combining mark", "start it with a letter or digit")
    package static let domainMisplacedJoiner = Self(
        "domain-to-ASCII-joiner", "a label of the host has a zero-width joiner or non-joiner where it has no effect", "remove it")
    package static let domainMixedDirections = Self(
        "domain-to-ASCII-bidi",
        "a label of a host with right-to-left text mixes directions, or starts or ends with a character that is not allowed there",
        "write each label in one direction, starting with a letter and ending with a letter or digit")
    package static let domainTooLong = Self(
        "domain-to-ASCII-length", "the host is not plain ASCII, and it or its xn-- form is longer than \(IDNA.longestDomain) bytes",
        "shorten it")
    package static let domainEmpty = Self(
        "domain-to-ASCII-empty", "the host has only invisible characters, which are ignored", "write a host after the //")

    init(_ violation: IDNAViolation) {
        self =
            switch violation {
            case .disallowedCodePoint: .domainDisallowedCodePoint
            case .invalidPunycode: .domainInvalidPunycode
            case .unmappedPunycode: .domainUnmappedPunycode
            case .leadingMark: .domainLeadingMark
            case .misplacedJoiner: .domainMisplacedJoiner
            case .mixedDirections: .domainMixedDirections
            case .tooLong: .domainTooLong
            case .empty: .domainEmpty
            }
    }
}
