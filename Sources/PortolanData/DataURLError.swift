// SPDX-License-Identifier: Apache-2.0

/// The reasons why a `data:` URL is malformed.
public enum DataURLError: Error, Sendable, Hashable {
    /// The URL does not start with `data:`.
    case wrongScheme

    /// No comma marks the start of the data. The URL ends at `endOffset`, in bytes of UTF-8.
    case missingComma(endOffset: Int)

    /// The URL declares base64 data, but the data is malformed. Offsets count from the start of the URL.
    case malformedBase64(Base64Error)
}

extension DataURLError: CustomStringConvertible {
    /// Describes the fault, its position and the correction.
    public var description: String {
        switch self {
        case .wrongScheme:
            "the URL does not start with \"data:\""
        case .missingComma(let endOffset):
            "the data: URL ends at offset \(endOffset) without a comma: write one before the data, as in \"data:text/plain,…\""
        case .malformedBase64(let error):
            "the data: URL says ;base64, but \(error)"
        }
    }
}
