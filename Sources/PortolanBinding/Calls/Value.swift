// SPDX-License-Identifier: Apache-2.0

/// A value while a load runs.
enum Value: Equatable {
    case null
    case integer(Int128)
    case real(Double)
    case boolean(Bool)
    case text([UInt8])
    /// Bytes in foreign memory: the address and the count.
    case region(UInt, Int)
    case pointer(UInt)

    /// The value for a message; `nil` if it would not help a reader.
    var phrase: String? {
        switch self {
        case .null: "NULL"
        case .integer(let integer): "\(integer)"
        case .real(let real): "\(real)"
        case .boolean(let boolean): "\(boolean)"
        case .text(let text): "'\(ForeignText.line(text, limit: 200))'"
        case .region, .pointer: nil
        }
    }
}

/// Text from a library.
enum ForeignText {
    /// The limit of a library's text, in bytes.
    static let limit = 1 << 20

    /// The text on one line, with control characters as U+FFFD.
    static func line(_ bytes: [UInt8], limit: Int = 1024) -> String {
        var line = String.UnicodeScalarView()
        var room = limit
        for scalar in String(decoding: bytes.prefix(limit), as: UTF8.self).unicodeScalars {
            let isBreaking =
                switch scalar.value {
                case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
                default: false
                }
            room -= UTF8.width(isBreaking ? "\u{FFFD}" : scalar)
            guard room >= 0 else { break }
            line.append(isBreaking ? "\u{FFFD}" : scalar)
        }
        return String(line)
    }
}
