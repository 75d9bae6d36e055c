// SPDX-License-Identifier: Apache-2.0

/// A rule of UTS 46 that a domain breaks.
enum IDNAViolation: Error, Equatable {
    /// A code point is neither valid nor mapped to one that is; bytes that are no UTF-8 count as one, too.
    case disallowedCodePoint
    /// What follows `xn--` is not Punycode, or of nothing but ASCII.
    case invalidPunycode
    /// What follows `xn--` is Punycode of a text that is mapped or normalised to another, or that is not allowed.
    case unmappedPunycode
    /// A label starts with a combining mark.
    case leadingMark
    /// A joiner or non-joiner stands where it has no effect.
    case misplacedJoiner
    /// Some label runs from right to left, and this one breaks the rule that such domains are under.
    case mixedDirections
    /// The domain, or what it is in ASCII, is longer than `IDNA.longestDomain`.
    case tooLong
    /// Nothing is left when what is ignored is removed.
    case empty
}
