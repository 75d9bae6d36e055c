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

    /// The received part of the body, between 0 and 1; `nil` if the length is unknown.
    public var fractionReceived: Double? {
        guard let expected = expectedBytesToReceive else { return nil }
        return expected == 0 ? 1 : min(1, Double(bytesReceived) / Double(expected))
    }
}
