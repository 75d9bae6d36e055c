// SPDX-License-Identifier: Apache-2.0

/// How large the head of a part of a `multipart/x-mixed-replace` body may be. A load that meets a limit fails with
/// `LoadError.Code.limitExceeded`.
public struct MultipartLimits: Hashable, Sendable {
    /// Bytes of all its lines, with their ends.
    public var maximumHeadBytes: Int
    public var maximumFields: Int

    public init(maximumHeadBytes: Int = 16 << 10, maximumFields: Int = 100) {
        self.maximumHeadBytes = maximumHeadBytes
        self.maximumFields = maximumFields
    }
}
