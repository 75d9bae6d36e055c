// SPDX-License-Identifier: Apache-2.0

/// Reads bits in the order of DEFLATE: the lowest bit of each byte is first.
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

    /// The next byte at a byte boundary, which stays unread; 0 at the end.
    var nextByte: UInt8 { isAtEnd ? 0 : bytes[index] }

    /// Reads a number of `count` bits, lowest bit first.
    ///
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

    mutating func skipToByteBoundary() {
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
