// SPDX-License-Identifier: Apache-2.0

/// The algorithms of the standards, word by word. They are slow and use no blocks. The tests compare the fast
/// algorithms with them.
enum Reference {
    static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Base64 with padding (RFC 4648, section 4).
    static func base64(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for position in 0..<4 {
                text.append(position <= group.count ? alphabet[bits >> (18 - 6 * position) & 63] : UInt8(ascii: "="))
            }
        }
        return text
    }

    /// Forgiving-base64 decode (WHATWG Infra); `nil` is failure.
    static func decodeBase64(_ text: [UInt8]) -> [UInt8]? {
        var data = text.filter { ![0x09, 0x0A, 0x0C, 0x0D, 0x20].contains($0) }
        if data.count.isMultiple(of: 4) {
            for _ in 0..<2 where data.last == UInt8(ascii: "=") { data.removeLast() }
        }
        guard data.count % 4 != 1 else { return nil }
        var output: [UInt8] = []
        var buffer = 0
        var count = 0
        for byte in data {
            guard let value = alphabet.firstIndex(of: byte) else { return nil }
            buffer = buffer << 6 | value
            count += 6
            if count >= 8 {
                count -= 8
                output.append(UInt8(truncatingIfNeeded: buffer >> count))
            }
        }
        return output
    }

    /// Percent-decode (WHATWG URL).
    static func percentDecode(_ text: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "%"), index + 2 < text.count,
                let high = Character(Unicode.Scalar(text[index + 1])).hexDigitValue,
                let low = Character(Unicode.Scalar(text[index + 2])).hexDigitValue
            {
                output.append(UInt8(high << 4 | low))
                index += 3
            } else {
                output.append(text[index])
                index += 1
            }
        }
        return output
    }
}
