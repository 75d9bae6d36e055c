// SPDX-License-Identifier: Apache-2.0

/// The type of a C number or Boolean. The raw value is its name in signatures.
enum ScalarType: String, Hashable, Sendable, CaseIterable {
    case int8, uint8, int16, uint16, int32, uint32, int64, uint64
    /// `size_t` and `ssize_t`.
    case size, ssize
    /// C's `int`, `unsigned`, `long` and `unsigned long`, with their width on this platform.
    case int, uint, long, ulong
    case float, double, bool

    /// The width in bytes.
    var width: Int {
        switch self {
        case .int8, .uint8, .bool: 1
        case .int16, .uint16: 2
        case .int32, .uint32, .int, .uint, .float: 4
        case .int64, .uint64, .double: 8
        case .size, .ssize, .long, .ulong: MemoryLayout<Int>.size
        }
    }

    var isSigned: Bool {
        switch self {
        case .int8, .int16, .int32, .int64, .ssize, .int, .long: true
        case .uint8, .uint16, .uint32, .uint64, .size, .uint, .ulong, .float, .double, .bool: false
        }
    }

    var isInteger: Bool {
        switch self {
        case .float, .double, .bool: false
        default: true
        }
    }

    /// Whether C passes the type unchanged after `...`. C promotes `float` and types narrower than `int`.
    var isKeptByPromotion: Bool { self != .float && width >= 4 }

    /// The range of an integer type.
    var range: ClosedRange<Int128> {
        let bits = Int128(width * 8)
        return isSigned ? -(1 << (bits - 1))...(1 << (bits - 1)) - 1 : 0...(1 << bits) - 1
    }
}
