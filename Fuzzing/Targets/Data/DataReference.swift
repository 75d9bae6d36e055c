// SPDX-License-Identifier: Apache-2.0

/// Decodes a `data:` URL by following the standards step by step, without blocks or pieces, for comparison with the
/// loads.
///
/// The fuzzer instruments this code, too, so comparisons are slow. Tables therefore classify the bytes.
///
/// Source: WHATWG Fetch, `data:` URL processor; Infra, "forgiving-base64 decode"; URL, "percent-decode".
struct DataReference {
    let mimeType: MIMEReference
    let body: [UInt8]

    /// - Parameter url: a serialised URL of the scheme `data`. The result is `nil` if the URL is invalid.
    init?(_ url: String) {
        let text = Array(url.utf8)
        let input = text[..<(text.firstIndex(of: UInt8(ascii: "#")) ?? text.endIndex)].dropFirst("data:".utf8.count)
        guard let comma = input.firstIndex(of: UInt8(ascii: ",")) else { return nil }
        var header = Self.trimmed(input[..<comma])
        let bytes = Self.percentDecode(input[(comma + 1)...])
        if let shortened = Self.withoutBase64Suffix(header) {
            guard let decoded = Self.decodeBase64(bytes) else { return nil }
            body = decoded
            header = shortened
        } else {
            body = bytes
        }
        let type = String(decoding: header, as: UTF8.self)
        mimeType =
            MIMEReference(parsing: type.hasPrefix(";") ? "text/plain\(type)" : type)
            ?? MIMEReference(essence: "text/plain", parameters: [["charset", "US-ASCII"]])
    }

    private static let whitespace: [Bool] = (UInt8.min ... .max).map { [0x20, 0x09, 0x0A, 0x0C, 0x0D].contains($0) }

    private static func isWhitespace(_ byte: UInt8) -> Bool { whitespace[Int(byte)] }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var rest = Array(bytes.drop(while: isWhitespace))
        while let last = rest.last, isWhitespace(last) { rest.removeLast() }
        return rest
    }

    /// Returns the header without the semicolon, spaces and "base64" at its end; `nil` if the header does not end with
    /// them.
    private static func withoutBase64Suffix(_ header: [UInt8]) -> [UInt8]? {
        guard String(decoding: header.suffix(6), as: UTF8.self).lowercased() == "base64" else { return nil }
        var rest = Array(header.dropLast(6))
        while rest.last == UInt8(ascii: " ") { rest.removeLast() }
        guard rest.popLast() == UInt8(ascii: ";") else { return nil }
        return rest
    }

    private static func percentDecode(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        var rest = text
        while let percent = rest.firstIndex(of: UInt8(ascii: "%")) {
            output += rest[..<percent]
            rest = rest[(percent + 1)...]
            if let first = rest.first, let high = digit(first), let second = rest.dropFirst().first, let low = digit(second) {
                output.append(high * 16 + low)
                rest = rest.dropFirst(2)
            } else {
                output.append(UInt8(ascii: "%"))
            }
        }
        output += rest
        return output
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    /// The value of each byte of the alphabet.
    private static let alphabet: [Int?] = {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        return (UInt8.min ... .max).map { letters.firstIndex(of: $0) }
    }()

    private static func decodeBase64(_ text: [UInt8]) -> [UInt8]? {
        var data = text.filter { !isWhitespace($0) }
        if data.count.isMultiple(of: 4) {
            for _ in 0..<2 where data.last == UInt8(ascii: "=") { data.removeLast() }
        }
        guard data.count % 4 != 1 else { return nil }
        var (output, buffer, count): ([UInt8], Int, Int) = ([], 0, 0)
        for byte in data {
            guard let value = alphabet[Int(byte)] else { return nil }
            (buffer, count) = (buffer << 6 | value, count + 6)
            guard count >= 8 else { continue }
            count -= 8
            output.append(UInt8(truncatingIfNeeded: buffer >> count))
            buffer &= 0xFF
        }
        return output
    }
}
