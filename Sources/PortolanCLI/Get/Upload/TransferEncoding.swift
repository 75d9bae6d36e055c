// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The content transfer encoding of a part (`-F 'name=text;encoder=base64'`). RFC 2045 §6
enum TransferEncoding: String, CaseIterable {
    case base64
    case sevenBit = "7bit"
    case eightBit = "8bit"
    case binary

    static var names: String { allCases.map(\.rawValue).joined(separator: ", ") }

    /// Whether the encoded bytes are the bytes themselves.
    var isIdentity: Bool { self == .eightBit || self == .binary }

    /// - Returns: `nil` if the encoding cannot represent the bytes. Lines of base64 have 76 characters.
    func encode(_ bytes: [UInt8]) -> [UInt8]? {
        switch self {
        case .base64: Array(Data(bytes).base64EncodedString(options: .lineLength76Characters).utf8)
        case .sevenBit: bytes.allSatisfy { $0 < 0x80 } ? bytes : nil
        case .eightBit, .binary: bytes
        }
    }
}
