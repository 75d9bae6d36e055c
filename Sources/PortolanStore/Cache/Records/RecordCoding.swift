// SPDX-License-Identifier: Apache-2.0

#if Persistence
    import HTTPTypes

    /// Writes the parts of a record as octets: numbers in little-endian order, and texts after their lengths.
    struct RecordEncoder {
        private(set) var octets: [UInt8] = []

        mutating func write(_ value: UInt8) { octets.append(value) }
        mutating func write(_ value: Bool) { octets.append(value ? 1 : 0) }

        mutating func write(_ value: UInt64) {
            for shift in stride(from: UInt64(0), to: 64, by: 8) { octets.append(UInt8(truncatingIfNeeded: value >> shift)) }
        }

        mutating func write(_ value: Int64) { write(UInt64(bitPattern: value)) }

        /// A number that is mostly small, in groups of seven bits.
        mutating func write(count: Int) {
            var rest = UInt64(max(0, count))
            while rest > 0x7f {
                octets.append(UInt8(truncatingIfNeeded: rest) | 0x80)
                rest >>= 7
            }
            octets.append(UInt8(rest))
        }

        mutating func write(_ bytes: [UInt8]) {
            write(count: bytes.count)
            octets.append(contentsOf: bytes)
        }

        mutating func write(_ text: String) {
            write(count: text.utf8.count)
            octets.append(contentsOf: text.utf8)
        }

        mutating func write<Value>(_ value: Value?, _ writeValue: (inout Self, Value) -> Void) {
            write(value != nil)
            if let value { writeValue(&self, value) }
        }

        mutating func write<Values: Collection>(_ values: Values, _ writeValue: (inout Self, Values.Element) -> Void) {
            write(count: values.count)
            for value in values { writeValue(&self, value) }
        }

        mutating func write(_ fields: HTTPFields) {
            write(fields) { encoder, field in
                encoder.write(field.name.rawName)
                unsafe field.withUnsafeBytesOfValue { value in
                    encoder.write(count: value.count)
                    unsafe encoder.octets.append(contentsOf: value)
                }
            }
        }
    }

    /// Reads what ``RecordEncoder`` has written. Each octet can be wrong.
    struct RecordDecoder {
        struct Malformed: Error {}

        private let octets: [UInt8]
        private var position = 0

        init(_ octets: [UInt8]) { self.octets = octets }

        var isAtEnd: Bool { position == octets.count }

        /// The next octets.
        private mutating func next(_ count: Int) throws(Malformed) -> ArraySlice<UInt8> {
            guard count <= octets.count - position else { throw Malformed() }
            defer { position += count }
            return octets[position..<position + count]
        }

        mutating func octet() throws(Malformed) -> UInt8 {
            guard position < octets.count else { throw Malformed() }
            defer { position += 1 }
            return octets[position]
        }

        mutating func bool() throws(Malformed) -> Bool {
            switch try octet() {
            case 0: false
            case 1: true
            default: throw Malformed()
            }
        }

        mutating func unsigned() throws(Malformed) -> UInt64 {
            try next(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
        }

        mutating func integer() throws(Malformed) -> Int64 { Int64(bitPattern: try unsigned()) }

        /// The number of the following octets or elements, each of which has at least one octet.
        mutating func count() throws(Malformed) -> Int {
            var (value, shift) = (0, 0)
            while true {
                let octet = try octet()
                guard shift < 35 else { throw Malformed() }
                value |= Int(octet & 0x7f) << shift
                if octet & 0x80 == 0 { break }
                shift += 7
            }
            guard value <= octets.count - position else { throw Malformed() }
            return value
        }

        mutating func bytes() throws(Malformed) -> [UInt8] { Array(try next(try count())) }

        mutating func text() throws(Malformed) -> String {
            guard let text = String(validating: try next(try count()), as: UTF8.self) else { throw Malformed() }
            return text
        }

        mutating func optional<Value>(_ value: (inout Self) throws(Malformed) -> Value) throws(Malformed) -> Value? {
            try bool() ? try value(&self) : nil
        }

        mutating func array<Value>(_ value: (inout Self) throws(Malformed) -> Value) throws(Malformed) -> [Value] {
            var values: [Value] = []
            let count = try count()
            values.reserveCapacity(min(count, 1024))
            for _ in 0..<count { values.append(try value(&self)) }
            return values
        }

        mutating func fields() throws(Malformed) -> HTTPFields {
            var fields = HTTPFields()
            let count = try count()
            fields.reserveCapacity(min(count, 1024))
            for _ in 0..<count {
                guard let name = HTTPField.Name(try text()) else { throw Malformed() }
                let value = try next(try self.count())
                // HTTPTypes would replace these by blanks.
                guard !value.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else { throw Malformed() }
                fields.append(HTTPField(name: name, lenientValue: value))
            }
            return fields
        }
    }
#endif
