// SPDX-License-Identifier: Apache-2.0

/// The variant of JSON that a parser accepts.
package struct JSONDialect: Sendable {
    /// Whether to accept JSON5: comments, trailing commas, names without quotes and more (spec.json5.org).
    let isExtended: Bool
    /// Whether invalid Unicode in a string becomes U+FFFD. Otherwise it is an error.
    let repairsText: Bool
    /// Whether an object can contain the same name twice. Otherwise a duplicate is an error.
    let allowsDuplicates: Bool
    /// The maximum depth of a value. The outermost value has the depth 0.
    let depthLimit: Int

    /// RFC 8259, for data that programs send. Tolerates invalid Unicode. The depth limit also suits threads with a
    /// small stack.
    package static let json = Self(isExtended: false, repairsText: true, allowsDuplicates: true, depthLimit: 128)
    /// JSON5, for text that people write. Rejects invalid Unicode. The depth limit is low, because 500 levels need over
    /// 512 KiB of stack in a debug build.
    package static let json5 = Self(isExtended: true, repairsText: false, allowsDuplicates: false, depthLimit: 64)
}
