// SPDX-License-Identifier: Apache-2.0

/// Limits for the head of each part of a `multipart/x-mixed-replace` body. If a head exceeds a limit, the load fails
/// with `LoadError.Code.limitExceeded`.
public struct MultipartLimits: Hashable, Sendable {
    /// The maximum number of bytes in all lines of the head, including the line ends.
    public var maximumHeadBytes: Int
    public var maximumFields: Int

    public init(maximumHeadBytes: Int = 16 << 10, maximumFields: Int = 100) {
        self.maximumHeadBytes = maximumHeadBytes
        self.maximumFields = maximumFields
    }
}
