// SPDX-License-Identifier: Apache-2.0

/// Splits a signature into tokens: words and punctuation.
struct SignatureScanner {
    private let bytes: [UInt8]
    private var position = 0
    /// The position of the next token in bytes, counted from 1.
    private(set) var column = 1
    /// The next token; `nil` at the end.
    private(set) var next: String?

    init(_ text: String) {
        bytes = Array(text.utf8)
        advance()
    }

    /// Returns the next token, and advances past it.
    mutating func popNext() -> String? {
        defer { advance() }
        return next
    }

    /// Advances past the next token if it equals `token`.
    ///
    /// - Returns: whether the next token equals `token`.
    mutating func skip(_ token: String) -> Bool {
        guard next == token else { return false }
        advance()
        return true
    }

    private mutating func advance() {
        while position < bytes.count, bytes[position] == 0x20 { position += 1 }
        column = position + 1
        guard position < bytes.count else {
            next = nil
            return
        }
        let start = position
        if Self.isWord(bytes[position]) {
            while position < bytes.count, Self.isWord(bytes[position]) { position += 1 }
        } else if bytes[position...].starts(with: "...".utf8) {
            position += 3
        } else {
            position += 1
        }
        next = String(decoding: bytes[start..<position], as: UTF8.self)
    }

    static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Whether the text is a C name: 1 to 128 letters, digits and underscores, not starting with a digit.
    package static func isIdentifier(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 128, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return text.utf8.allSatisfy(isWord)
    }
}
