// SPDX-License-Identifier: Apache-2.0

/// A JSON value that preserves the order of members and the digits of numbers.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// The text of the number, so that `1e400` and 20-digit identifiers are kept. The parser converts numbers of JSON5
    /// to JSON's syntax, except for `Infinity` and `NaN`.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    package struct Member: Hashable, Sendable {
        package let name: String
        package let value: JSONValue

        package init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }

        /// Compares the bytes of the names (RFC 8259 §8.3). `==` of `String` ignores whether é is one code point or
        /// two, and takes long for names with many combining marks.
        package func isNamed(_ name: String) -> Bool { self.name.hasSameBytes(as: name) }
    }
}

extension JSONValue {
    /// The value of the member with this name; if there are several, of the last member, as in `JSON.parse`. `nil` if
    /// there is none, or if this value is not an object.
    package subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.isNamed(name) }?.value
    }

    package static func integer(_ value: some BinaryInteger) -> JSONValue { .number(String(value)) }

    /// A string, or null for `nil`.
    package static func text(_ value: String?) -> JSONValue { value.map(JSONValue.string) ?? .null }

    /// An integer, or null for `nil`.
    package static func count(_ value: (some BinaryInteger)?) -> JSONValue { value.map { .integer($0) } ?? .null }

    /// The number of milliseconds, with three digits after the point.
    package static func milliseconds(_ time: Duration) -> JSONValue {
        let (seconds, attoseconds) = time.components
        let microseconds = Int128(seconds) * 1_000_000 + Int128(attoseconds / 1_000_000_000_000)
        let (whole, fraction) = microseconds.magnitude.quotientAndRemainder(dividingBy: 1000)
        let digits = String(fraction)
        return .number("\(microseconds < 0 ? "-" : "")\(whole).\(String(repeating: "0", count: 3 - digits.count))\(digits)")
    }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral {
    package init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(members.map { Member(name: $0, value: $1) })
    }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(stringLiteral text: String) { self = .string(text) }
    package init(nilLiteral: ()) { self = .null }
}

extension String {
    func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let (bytes, otherBytes) = (utf8.span, other.utf8.span)
        for index in bytes.indices where bytes[index] != otherBytes[index] { return false }
        return true
    }
}
