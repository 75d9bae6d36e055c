// SPDX-License-Identifier: Apache-2.0

/// Bytes that were received and not read. Two arrays, so that no append moves bytes that the reader uses.
struct ReceiveBuffer {
    private var readable: ArraySlice<UInt8> = []
    /// The bytes behind them.
    private var received: [UInt8] = []

    var count: Int { readable.count + received.count }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ bytes: borrowing RawSpan) { unsafe bytes.withUnsafeBytes { unsafe received.append(contentsOf: $0) } }

    /// The first bytes; none only if the buffer is empty.
    mutating func next() -> ArraySlice<UInt8> {
        if readable.isEmpty { (readable, received) = (received[...], []) }
        return readable
    }

    /// Removes bytes that ``next()`` has returned. If the buffer was emptied in the meantime, removes nothing.
    mutating func removeFirst(_ count: Int) { readable = readable.dropFirst(count) }

    mutating func removeAll() -> [UInt8] {
        defer { (readable, received) = ([], []) }
        return Array(readable) + received
    }
}
