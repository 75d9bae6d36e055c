// SPDX-License-Identifier: Apache-2.0

/// A value of a running load.
enum Value: Equatable {
    case null
    case integer(Int128)
    case real(Double)
    case boolean(Bool)
    case text([UInt8])
    /// Bytes in memory of the library or of the load: their address and their number.
    case region(UInt, Int)
    case pointer(UInt)

    /// The value for a message. `nil` for addresses and bytes, which do not help the reader of a message.
    var phrase: String? {
        switch self {
        case .null: "NULL"
        case .integer(let integer): "\(integer)"
        case .real(let real): "\(real)"
        case .boolean(let boolean): "\(boolean)"
        case .text(let text): "'\(ForeignText.singleLine(text, limit: 200))'"
        case .region, .pointer: nil
        }
    }
}

/// Text from a library.
enum ForeignText {
    /// The maximum length of a library's text in bytes.
    static let limit = 1 << 20

    /// Returns the text on one line, cut after at most `limit` bytes. Each control character becomes U+FFFD.
    static func singleLine(_ bytes: [UInt8], limit: Int = 1024) -> String {
        var line = String.UnicodeScalarView()
        var remainingBytes = limit
        for scalar in String(decoding: bytes.prefix(limit), as: UTF8.self).unicodeScalars {
            let isBreaking =
                switch scalar.value {
                case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
                default: false
                }
            remainingBytes -= UTF8.width(isBreaking ? "\u{FFFD}" : scalar)
            guard remainingBytes >= 0 else { break }
            line.append(isBreaking ? "\u{FFFD}" : scalar)
        }
        return String(line)
    }
}
