// SPDX-License-Identifier: Apache-2.0

/// Limits for the head of a part of a `multipart/x-mixed-replace` body. A load that exceeds a limit fails with
/// `LoadError.Code.limitExceeded`.
public struct MultipartLimits: Hashable, Sendable {
    /// Bytes of all lines of the head, including their ends.
    public var maximumHeadBytes: Int
    public var maximumFields: Int

    public init(maximumHeadBytes: Int = 16 << 10, maximumFields: Int = 100) {
        self.maximumHeadBytes = maximumHeadBytes
        self.maximumFields = maximumFields
    }
}
