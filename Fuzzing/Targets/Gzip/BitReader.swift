// SPDX-License-Identifier: Apache-2.0

/// Reads bits in DEFLATE's order: the first bit is a byte's lowest.
///
/// Source: RFC 1951, section 3.1.1.
struct BitReader {
    private let bytes: [UInt8]
    private var index = 0
    private var bit = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Whether every byte was read, at least in part.
    var isAtEnd: Bool { index == bytes.count }

    /// The number of bytes that were read, at least in part.
    var position: Int { bit == 0 ? index : index + 1 }

    /// The next byte, without reading it, at a byte boundary; 0 at the end.
    var upcoming: UInt8 { isAtEnd ? 0 : bytes[index] }

    /// - Parameter count: 0 to 16.
    mutating func bits(_ count: Int) throws(GzipStop) -> Int {
        var value = 0
        for position in 0..<count {
            guard index < bytes.count else { throw .cut }
            value |= Int(bytes[index] >> bit & 1) << position
            bit += 1
            if bit == 8 { (index, bit) = (index + 1, 0) }
        }
        return value
    }

    mutating func skipToByte() {
        if bit > 0 { (index, bit) = (index + 1, 0) }
    }

    mutating func byte() throws(GzipStop) -> UInt8 { UInt8(truncatingIfNeeded: try bits(8)) }

    /// Reads a number of `count` bytes, lowest byte first.
    mutating func number(bytes count: Int) throws(GzipStop) -> UInt32 {
        var value: UInt32 = 0
        for position in 0..<count { value |= UInt32(try byte()) << (8 * position) }
        return value
    }
}
