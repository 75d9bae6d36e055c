// SPDX-License-Identifier: Apache-2.0

/// How many bytes of content a peer may send, on one stream or on a connection, and when to allow more. A pure state
/// machine.
///
/// A stream starts with a small window that doubles while its reader keeps up, within the connection's budget. So one
/// download gets the bandwidth of a link with a long delay, and many paused streams buffer little.
///
/// RFC 9113 §6.9
struct HTTP2ReceiveWindow {
    /// The initial window of each stream.
    static let streamStart = 512 << 10
    static let streamLimit = 8 << 20
    /// By how many bytes all streams of a connection together may exceed their initial windows.
    static let growthLimit = 32 << 20
    /// The window of the connection. Bytes count against it until they arrive, not until they are read, so no stream
    /// blocks another.
    static let connection = 16 << 20

    /// The size to which the window is refilled.
    private(set) var size: Int
    /// Bytes that the peer may still send.
    private var remaining: Int

    init(_ size: Int) {
        self.size = size
        remaining = size
    }

    /// Sets the bytes that the peer may still send, as the protocol's state machine counts them.
    mutating func note(remaining: Int) { self.remaining = remaining }

    /// How many bytes to allow now; `nil` until half of the window is used.
    mutating func increment() -> Int? {
        guard remaining <= size / 2 else { return nil }
        let increment = size - remaining
        remaining = size
        return increment
    }

    /// The same for a stream whose reader keeps up. Doubles the window out of `limiter`.
    mutating func increment(growingWithin limiter: inout Int) -> Int? {
        guard remaining <= size / 2 else { return nil }
        if size < Self.streamLimit, limiter >= size {
            limiter -= size
            size *= 2
        }
        return increment()
    }

    /// How many bytes of the budget the stream used.
    var growth: Int { size - Self.streamStart }
}
