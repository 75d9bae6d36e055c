// SPDX-License-Identifier: Apache-2.0

/// The progress of a load at one moment.
public struct LoadProgress: Hashable, Sendable {
    /// The number of bytes of the response's body that were received. In a multipart load, of the current part.
    public var bytesReceived: Int64
    /// The length of the response's body; `nil` if it is unknown.
    public var expectedBytesToReceive: Int64?
    /// The number of bytes of the request's body that were sent.
    public var bytesSent: Int64
    /// The length of the request's body; `nil` if it is unknown.
    public var expectedBytesToSend: Int64?
    /// The number of bytes in the file of a download, with those of an earlier download that it continues; 0 for other
    /// loads.
    public var bytesWritten: Int64 = 0
    /// The size of the complete file in bytes; `nil` if it is unknown, and for other loads.
    public var expectedBytesToWrite: Int64?
    /// The bytes sent and received in a second, on average over about the last three seconds; `nil` if it is not known
    /// yet. Only in the values of ``LoadTask/progressUpdates(every:)``.
    public var bytesPerSecond: Double?

    /// The received part of the body, between 0 and 1; `nil` if the length is unknown. For a download, the part of the
    /// file.
    public var fractionReceived: Double? {
        guard let (count, expected) = received else { return nil }
        return expected == 0 ? 1 : min(1, Double(count) / Double(expected))
    }

    /// The sent part of the request's body, between 0 and 1; `nil` if there is no body, or its length is unknown.
    public var fractionSent: Double? {
        expectedBytesToSend.map { $0 == 0 ? 1 : min(1, Double(bytesSent) / Double($0)) }
    }

    /// The time until all bytes of the request's body are sent or, once the response has arrived, until all bytes are
    /// received, if the rate stays the same; `nil` if the rate or the length is unknown, or if nothing is transferred.
    public var timeLeft: Duration? {
        guard let (count, expected) = unsent ?? received, let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        let seconds = Double(max(0, expected - count)) / bytesPerSecond
        // A year, so that a slow server can't make the number of seconds too large.
        return .seconds(min(seconds, 31_536_000))
    }

    private var unsent: (count: Int64, expected: Int64)? {
        guard bytesReceived == 0, expectedBytesToReceive == nil else { return nil }
        return expectedBytesToSend.flatMap { bytesSent < $0 ? (bytesSent, $0) : nil }
    }

    private var received: (count: Int64, expected: Int64)? {
        if let expectedBytesToWrite { return (bytesWritten, expectedBytesToWrite) }
        return expectedBytesToReceive.map { (bytesReceived, $0) }
    }
}
