// SPDX-License-Identifier: Apache-2.0

/// Why a `data:` URL stands for nothing.
public enum DataURLError: Error, Sendable, Hashable {
    /// The URL does not start with `data:`.
    case wrongScheme

    /// Between `data:` and the end, at `offset` (in bytes of UTF-8), no comma says where the data begin.
    case missingComma(endOffset: Int)

    /// The URL says that its data are base64, and they are not. Offsets count from the start of the URL.
    case malformedBase64(Base64Error)
}

extension DataURLError: CustomStringConvertible {
    /// What is wrong, where, and how to mend it.
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
