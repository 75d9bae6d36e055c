// SPDX-License-Identifier: Apache-2.0

/// The flow-control window for receiving content, of a stream or of the connection, and when to send WINDOW_UPDATE. A
/// pure state machine.
///
/// A stream starts with a small window. The window doubles while the reader is fast enough, within a limit for all
/// streams. So a download uses the full bandwidth of a link with a high latency, and many paused streams buffer little.
///
/// RFC 9113 §6.9
struct HTTP2ReceiveWindow {
    /// The initial window of each stream in bytes.
    static let streamStart = 512 << 10
    /// The maximum window of a stream in bytes.
    static let streamLimit = 8 << 20
    /// By how many bytes the windows of all streams of a connection together can grow.
    static let growthLimit = 32 << 20
    /// The window of the connection in bytes. It is extended when bytes arrive, even if their stream is paused. So no
    /// stream blocks another.
    static let connection = 16 << 20

    /// The size of the window in bytes after an update.
    private(set) var size: Int
    /// How many more bytes the peer can send.
    private var remaining: Int

    init(_ size: Int) {
        self.size = size
        remaining = size
    }

    /// Sets how many more bytes the peer can send, as nghttp2 counts them.
    mutating func update(remaining: Int) { self.remaining = remaining }

    /// The increment for a WINDOW_UPDATE; `nil` until half of the window is used.
    mutating func increment() -> Int? {
        guard remaining <= size / 2 else { return nil }
        let increment = size - remaining
        remaining = size
        return increment
    }

    /// As ``increment()``, for a stream with a fast reader. First doubles the window if `remainingGrowth` is large
    /// enough, and subtracts the growth from `remainingGrowth`.
    mutating func increment(growingWithin remainingGrowth: inout Int) -> Int? {
        guard remaining <= size / 2 else { return nil }
        if size < Self.streamLimit, remainingGrowth >= size {
            remainingGrowth -= size
            size *= 2
        }
        return increment()
    }

    /// By how many bytes the window of the stream has grown.
    var growth: Int { size - Self.streamStart }
}
