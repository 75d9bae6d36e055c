// SPDX-License-Identifier: Apache-2.0

/// How many bytes of content a peer may send, on one stream or on a connection, and when to allow more. A pure machine.
///
/// A stream starts with a small window that doubles while its reader keeps up, as far as the connection's budget goes: one download gets
/// the bandwidth of a long line, and many paused ones hold little.
///
/// RFC 9113 §6.9
struct HTTP2ReceiveWindow {
    /// Of each stream, from the start.
    static let streamStart = 512 << 10
    static let streamLimit = 8 << 20
    /// By how much all streams of a connection together may exceed their start.
    static let growthLimit = 32 << 20
    /// Of the connection. Bytes count against it until they have come, not until somebody has read them: no stream holds up another.
    static let connection = 16 << 20

    /// What the window is filled up to.
    private(set) var size: Int
    /// How many bytes the peer may still send.
    private var remaining: Int

    init(_ size: Int) {
        self.size = size
        remaining = size
    }

    /// What the peer may still send, as the protocol's machine has it.
    mutating func note(remaining: Int) { self.remaining = remaining }

    /// How much to allow now: nothing before half of the window is used.
    mutating func increment() -> Int? {
        guard remaining <= size / 2 else { return nil }
        let increment = size - remaining
        remaining = size
        return increment
    }

    /// The same, of a stream whose reader keeps up; doubles the window out of `limiter`.
    mutating func increment(growingWithin limiter: inout Int) -> Int? {
        guard remaining <= size / 2 else { return nil }
        if size < Self.streamLimit, limiter >= size {
            limiter -= size
            size *= 2
        }
        return increment()
    }

    /// What the stream took of the budget.
    var growth: Int { size - Self.streamStart }
}
