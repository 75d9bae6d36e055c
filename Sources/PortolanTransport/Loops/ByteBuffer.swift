// SPDX-License-Identifier: Apache-2.0

import PortolanCore

/// A queue of bytes.
package struct ByteBuffer {
    private var bytes: [UInt8] = []
    /// The number of removed bytes that are still in `bytes`.
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

    /// Removes all bytes. Frees the memory if it is larger than 64 KiB.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: bytes.capacity <= 64 << 10)
        start = 0
    }
}
