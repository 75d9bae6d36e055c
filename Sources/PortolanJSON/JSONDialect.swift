// SPDX-License-Identifier: Apache-2.0

/// What a parser takes for JSON.
package struct JSONDialect: Sendable {
    /// Comments, trailing commas, names without quotes and the other forms of JSON5 (spec.json5.org).
    let isExtended: Bool
    /// What is not Unicode in a string becomes U+FFFD; otherwise it is an error.
    let repairsText: Bool
    /// A name may stand twice in an object; otherwise it is an error.
    let allowsDuplicates: Bool
    /// How deep values may lie in each other.
    let depthLimit: Int

    /// RFC 8259, forgiving in what is text: for what programs send. It, too, is read on threads with a small stack.
    package static let json = Self(isExtended: false, repairsText: true, allowsDuplicates: true, depthLimit: 128)
    /// JSON5, strict in what is text: for what people write. Shallow, for it may be read on a thread with a small stack: 500 levels took over 512 KiB
    /// without optimization.
    package static let json5 = Self(isExtended: true, repairsText: false, allowsDuplicates: false, depthLimit: 64)
}
