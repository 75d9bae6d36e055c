// SPDX-License-Identifier: Apache-2.0

/// Reads the bytes of an input from the front.
struct ByteSource {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    var isEmpty: Bool { rest.isEmpty }

    /// Returns the next byte; 0 at the end.
    mutating func next() -> UInt8 { rest.popFirst() ?? 0 }

    /// Returns the next byte modulo `count`.
    mutating func next(below count: UInt8) -> Int { Int(next() % count) }

    /// Returns all remaining bytes.
    mutating func takeRest() -> [UInt8] {
        defer { rest = [] }
        return Array(rest)
    }
}
