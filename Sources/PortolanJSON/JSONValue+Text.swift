// SPDX-License-Identifier: Apache-2.0

extension JSONValue {
    /// The value as JSON text in UTF-8: one line, without a line feed at its end.
    ///
    /// Escapes control characters, U+2028 and U+2029, because some programs treat several of them as line ends.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return bytes
    }

    private func append(to bytes: inout [UInt8]) {
        switch self {
        case .null: bytes += "null".utf8
        case .bool(let boolean): bytes += (boolean ? "true" : "false").utf8
        case .number(let text): bytes += text.utf8
        case .string(let text): Self.append(text, to: &bytes)
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                element.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { bytes.append(UInt8(ascii: ",")) }
                Self.append(member.name, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                member.value.append(to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        let utf8 = text.utf8.span
        bytes.reserveCapacity(bytes.count + utf8.count + 1)
        var index = 0
        while index < utf8.count {
            let length = lengthToEscape(in: utf8, at: index)
            if length == 0 {
                bytes.append(utf8[index])
            } else {
                appendEscape(of: utf8.extracting(index..<index + length), to: &bytes)
            }
            index += max(length, 1)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The length in bytes of the code point at `index` if it must be escaped, otherwise 0.
    @inline(__always)
    private static func lengthToEscape(in utf8: Span<UInt8>, at index: Int) -> Int {
        switch utf8[index] {
        case 0..<0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "\\"): 1
        case 0xC2 where utf8[index + 1] < 0xA0: 2  // C1 controls
        case 0xE2 where utf8[index + 1] == 0x80 && (utf8[index + 2] == 0xA8 || utf8[index + 2] == 0xA9): 3
        default: 0
        }
    }

    private static func appendEscape(of codePoint: Span<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch codePoint[0] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(codePoint[0])
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0xE2: bytes += (codePoint[2] == 0xA8 ? "u2028" : "u2029").utf8
        default:
            let digits = Array("0123456789abcdef".utf8)
            let value = codePoint[codePoint.count - 1]
            bytes += "u00".utf8
            bytes.append(digits[Int(value >> 4)])
            bytes.append(digits[Int(value & 15)])
        }
    }
}
