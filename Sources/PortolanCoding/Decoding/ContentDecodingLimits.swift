// SPDX-License-Identifier: Apache-2.0

/// Limits for the decoded output of a body, because a few coded bytes can stand for gigabytes. A load that exceeds a
/// limit fails with `LoadError.Code.limitExceeded`.
public struct ContentDecodingLimits: Hashable, Sendable {
    /// The maximum ratio between the output of any coding of a body and the received body; `nil`: no limit.
    ///
    /// Checked only after 16 MiB of output, because a small body that mostly repeats one line is not an attack. The
    /// ratio of DEFLATE is at most 1032.
    public var maximumRatio: Int?
    /// The maximum number of bytes in the output of any coding of a body; `nil`: no limit. This many bytes are
    /// delivered before the load fails.
    public var maximumBytes: Int64?
    /// The maximum number of codings that a response may name.
    public var maximumCodings: Int

    public init(maximumRatio: Int? = 200, maximumBytes: Int64? = nil, maximumCodings: Int = 5) {
        self.maximumRatio = maximumRatio
        self.maximumBytes = maximumBytes
        self.maximumCodings = maximumCodings
    }

    /// In bytes.
    static let minimumOutputForRatioCheck: Int64 = 16 << 20
}
