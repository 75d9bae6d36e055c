// SPDX-License-Identifier: Apache-2.0

/// A rule of UTS 46 that a domain violates.
enum IDNAViolation: Error, Equatable {
    /// A code point is neither valid nor mapped to a valid one. Bytes that are not UTF-8 also violate this rule.
    case disallowedCodePoint
    /// The text after `xn--` is not Punycode, or it is the Punycode of text that is only ASCII.
    case invalidPunycode
    /// The text after `xn--` is the Punycode of a text that is mapped or normalised to another text, or that is not
    /// allowed.
    case unmappedPunycode
    /// A label starts with a combining mark.
    case leadingMark
    /// A joiner or non-joiner is in a place where it has no effect.
    case misplacedJoiner
    /// Some label contains right-to-left text, and this label violates the rule for such domains.
    case mixedDirections
    /// The domain, or its ASCII form, is longer than `IDNA.longestDomain`.
    case tooLong
    /// Nothing remains when ignored code points are removed.
    case empty
}
