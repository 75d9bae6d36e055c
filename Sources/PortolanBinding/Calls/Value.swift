// SPDX-License-Identifier: Apache-2.0

/// A value while a load runs.
enum Value: Equatable {
    case null
    case integer(Int128)
    case real(Double)
    case truth(Bool)
    case text([UInt8])
    /// Bytes that lie elsewhere: at an address, so many.
    case region(UInt, Int)
    case pointer(UInt)

    /// For a message; `nil` for what says nothing to a person.
    var words: String? {
        switch self {
        case .null: "NULL"
        case .integer(let integer): "\(integer)"
        case .real(let real): "\(real)"
        case .truth(let truth): "\(truth)"
        case .text(let text): "'\(ForeignText.line(text, limit: 200))'"
        case .region, .pointer: nil
        }
    }
}

/// Text that a library gave.
enum ForeignText {
    /// No text of a library's may be longer.
    static let limit = 1 << 20

    /// On one line, with control characters as U+FFFD.
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
