// SPDX-License-Identifier: Apache-2.0

/// The syntax that a parser accepts as JSON.
package struct JSONDialect: Sendable {
    /// Comments, trailing commas, names without quotes and the other forms of JSON5 (spec.json5.org).
    let isExtended: Bool
    /// Invalid Unicode in a string becomes U+FFFD; otherwise it is an error.
    let repairsText: Bool
    /// An object may contain the same name twice; otherwise it is an error.
    let allowsDuplicates: Bool
    /// The maximum nesting depth of values.
    let depthLimit: Int

    /// RFC 8259 for data that programs send; tolerates invalid Unicode. Threads with a small stack parse this dialect,
    /// too.
    package static let json = Self(isExtended: false, repairsText: true, allowsDuplicates: true, depthLimit: 128)
    /// JSON5 for text that people write; rejects invalid Unicode. The depth limit is low because a thread with a small
    /// stack may parse it: 500 levels took over 512 KiB without optimization.
    package static let json5 = Self(isExtended: true, repairsText: false, allowsDuplicates: false, depthLimit: 64)
}
