// SPDX-License-Identifier: Apache-2.0

/// How much may come out of a coded body: a few coded bytes can stand for gigabytes. A load that meets a limit fails with
/// `LoadError.Code.limitExceeded`.
public struct ContentDecodingLimits: Hashable, Sendable {
    /// How many times larger than the body on the wire what comes out of any of its codings may be; `nil`: no limit.
    ///
    /// Judged once more than 16 MiB have come out, for a small body of much the same line is no bomb. DEFLATE reaches 1032 at most.
    public var maximumRatio: Int?
    /// How many bytes may come out of any of a body's codings; `nil`: no limit. So many are delivered before the load fails.
    public var maximumBytes: Int64?
    /// How many codings a response may name.
    public var maximumCodings: Int

    public init(maximumRatio: Int? = 200, maximumBytes: Int64? = nil, maximumCodings: Int = 5) {
        self.maximumRatio = maximumRatio
        self.maximumBytes = maximumBytes
        self.maximumCodings = maximumCodings
    }

    static let ratioIsJudgedAfter: Int64 = 16 << 20
}
