// SPDX-License-Identifier: Apache-2.0

/// The progress of a load at one moment.
public struct LoadProgress: Hashable, Sendable {
    /// Bytes of body received; in a multipart load, those of the current part.
    public var received: Int64
    /// Bytes of body that the response announced.
    public var expected: Int64?
    /// Bytes of the request's body sent.
    public var sent: Int64
    public var expectedToSend: Int64?

    /// Between 0 and 1; `nil` if the length is unknown.
    public var fractionReceived: Double? {
        guard let expected else { return nil }
        return expected == 0 ? 1 : min(1, Double(received) / Double(expected))
    }
}
