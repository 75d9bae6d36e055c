// SPDX-License-Identifier: Apache-2.0

/// Writes the values of a stored entry one after another.
package struct CacheOctetWriter {
    package private(set) var octets: [UInt8] = []

    package init() {}

    package mutating func append(_ value: some FixedWidthInteger) {
        for index in 0..<value.bitWidth / 8 { octets.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }

    package mutating func append(_ value: Bool) { octets.append(value ? 1 : 0) }

    package mutating func append(count: Int) { append(UInt32(truncatingIfNeeded: count)) }

    package mutating func append(_ value: [UInt8]) {
        append(count: value.count)
        octets.append(contentsOf: value)
    }

    package mutating func append(_ text: String) {
        append(count: text.utf8.count)
        octets.append(contentsOf: text.utf8)
    }

    package mutating func append<Value>(_ value: Value?, _ body: (inout Self, Value) -> Void) {
        append(value != nil)
        if let value { body(&self, value) }
    }
}

/// Reads untrusted octets as the values that ``CacheOctetWriter`` writes. A missing or malformed value is `nil`.
package struct CacheOctetReader {
    private let octets: [UInt8]
    private var position: Int

    /// - Parameter start: the number of octets to skip.
    package init(_ octets: [UInt8], from start: Int = 0) { (self.octets, position) = (octets, min(max(0, start), octets.count)) }

    package var isAtEnd: Bool { position == octets.count }
    /// The number of octets that are not read yet.
    package var remainingCount: Int { octets.count - position }

    package mutating func byte() -> UInt8? { integer(UInt8.self) }

    package mutating func integer<Value: FixedWidthInteger & BitwiseCopyable>(_ type: Value.Type) -> Value? {
        let count = MemoryLayout<Value>.size
        guard remainingCount >= count else { return nil }
        defer { position += count }
        return unsafe octets.withUnsafeBytes { unsafe Value(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: type)) }
    }

    /// Reads a `UInt64`. Not generic, so that other modules can call it without an unspecialized generic call.
    package mutating func uint64() -> UInt64? { integer(UInt64.self) }

    package mutating func boolean() -> Bool? {
        switch byte() {
        case 0: false
        case 1: true
        default: nil
        }
    }

    /// A count of octets or values. A count above the number of remaining octets is malformed, because each value needs
    /// at least one.
    package mutating func count() -> Int? {
        guard let count = integer(UInt32.self), count <= remainingCount else { return nil }
        return Int(count)
    }

    /// Reads a count, and returns that many octets after it.
    package mutating func bytes() -> [UInt8]? { nextRange().map { Array(octets[$0]) } }

    package mutating func text() -> String? {
        guard let range = nextRange() else { return nil }
        // `String(validating:as:)` takes several times as long.
        do { return String(copying: try UTF8Span(validating: octets.span.extracting(range))) } catch { return nil }
    }

    /// Reads a count, and returns the range of that many octets after it.
    private mutating func nextRange() -> Range<Int>? {
        guard let count = count() else { return nil }
        defer { position += count }
        return position..<position + count
    }

    /// - Returns: `nil` if the value is malformed, and `.some(nil)` if there is none.
    package mutating func optional<Value>(_ body: (inout Self) -> Value?) -> Value?? {
        guard let isPresent = boolean() else { return nil }
        guard isPresent else { return .some(nil) }
        return body(&self).map { .some($0) }
    }
}
