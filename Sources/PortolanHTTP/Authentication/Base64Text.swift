// SPDX-License-Identifier: Apache-2.0

/// RFC 4648 §4, with padding.
enum Base64Text {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var bits: UInt32 = 0
            for offset in 0..<3 { bits = bits << 8 | UInt32(offset < group.count ? group[start + offset] : 0) }
            for digit in 0..<4 {
                let isPadding = digit > group.count
                text.append(isPadding ? UInt8(ascii: "=") : alphabet[Int(bits >> UInt32(18 - 6 * digit)) & 63])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
