// SPDX-License-Identifier: Apache-2.0

/// Decoders that follow the text of the standards step by step, and a base64 encoder. They are slow: they process one
/// byte at a time. The tests compare the results of the product's fast decoders with the results of these decoders.
enum ReferenceDecoder {
    /// The 64 base64 characters, in the order of their values.
    static let base64Alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Encodes the bytes in base64 with padding (RFC 4648, section 4).
    static func encodeBase64(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for position in 0..<4 {
                text.append(position <= group.count ? base64Alphabet[bits >> (18 - 6 * position) & 63] : UInt8(ascii: "="))
            }
        }
        return text
    }

    /// The algorithm "forgiving-base64 decode" of the WHATWG Infra standard. Returns `nil` if the text is malformed.
    static func decodeBase64(_ text: [UInt8]) -> [UInt8]? {
        var data = text.filter { ![0x09, 0x0A, 0x0C, 0x0D, 0x20].contains($0) }
        if data.count.isMultiple(of: 4) {
            for _ in 0..<2 where data.last == UInt8(ascii: "=") { data.removeLast() }
        }
        guard data.count % 4 != 1 else { return nil }
        var output: [UInt8] = []
        var pendingBits = 0
        var pendingBitCount = 0
        for byte in data {
            guard let value = base64Alphabet.firstIndex(of: byte) else { return nil }
            pendingBits = pendingBits << 6 | value
            pendingBitCount += 6
            if pendingBitCount >= 8 {
                pendingBitCount -= 8
                output.append(UInt8(truncatingIfNeeded: pendingBits >> pendingBitCount))
            }
        }
        return output
    }

    /// The algorithm "percent-decode" of the WHATWG URL standard.
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
