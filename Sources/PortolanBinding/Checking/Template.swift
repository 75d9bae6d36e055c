// SPDX-License-Identifier: Apache-2.0

/// A text of a binding with `{names}`, split into literals and names. `{{` and `}}` are escaped braces.
struct Template {
    enum Piece: Hashable {
        case literal(String)
        case name(String, fallback: String?)
    }

    private(set) var pieces: [Piece] = []

    init(parsing text: String) throws(BindingError) {
        guard text.utf8.count <= 4096 else { throw BindingError("has over 4096 bytes, which is the limit") }
        var literal: [UInt8] = []
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            guard byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") else {
                literal.append(byte)
                continue
            }
            if index < bytes.count, bytes[index] == byte {
                literal.append(byte)
                index += 1
                continue
            }
            guard byte == UInt8(ascii: "{"), let end = bytes[index...].firstIndex(of: UInt8(ascii: "}")) else {
                throw BindingError("has a brace without its partner; write {{ or }} for a literal brace")
            }
            appendLiteral(&literal)
            let content = bytes[index..<end].split(separator: UInt8(ascii: "|"), maxSplits: 1, omittingEmptySubsequences: false)
            let texts = content.map { String(decoding: $0, as: UTF8.self) }
            pieces.append(.name(texts[0], fallback: texts.count > 1 ? texts[1] : nil))
            index = end + 1
        }
        appendLiteral(&literal)
    }

    /// Appends the literal, unless it is empty, and clears it.
    private mutating func appendLiteral(_ literal: inout [UInt8]) {
        if !literal.isEmpty { pieces.append(.literal(String(decoding: literal, as: UTF8.self))) }
        literal = []
    }
}
