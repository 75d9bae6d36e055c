// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// Bytes that wait in line: they are appended at the end and taken at the start.
package struct ByteBuffer {
    private var bytes: [UInt8] = []
    /// How many of them were taken.
    private var start = 0

    package init() {}

    package var isEmpty: Bool { start == bytes.count }
    var count: Int { bytes.count - start }

    package mutating func append(_ span: borrowing RawSpan) {
        if start > 0, start * 2 >= bytes.count {
            bytes.removeFirst(start)
            start = 0
        }
        unsafe span.withUnsafeBytes { unsafe bytes.append(contentsOf: $0) }
    }

    package func withBytes<Value>(_ body: (borrowing RawSpan) -> Value) -> Value {
        unsafe bytes.withUnsafeBytes { body(unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: $0[start...]))) }
    }

    mutating func removeFirst(_ count: Int) {
        start += count
        if start == bytes.count { removeAll() }
    }

    /// Room for much is given back.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= 64 << 10)
        start = 0
    }
}
