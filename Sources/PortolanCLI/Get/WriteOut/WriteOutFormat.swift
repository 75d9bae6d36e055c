// SPDX-License-Identifier: Apache-2.0

/// The text of `-w`, with variables as in curl: `%{name}`, `%header{name}`, `%output{file}`, and `%%` for a percent
/// sign. `\n`, `\r` and `\t` are line ends and tabs.
struct WriteOutFormat: Sendable {
    enum Piece: Equatable, Sendable {
        case text(String)
        case variable(String)
        /// The value of the first field with this name in the last response.
        case field(String)
        case standardOutput
        case standardError
        /// The following text goes to a file.
        case file(path: String, appends: Bool)
        /// The following text is printed only if the load failed.
        case onError
    }

    private(set) var pieces: [Piece] = []

    init(parsing text: String) {
        var rest = text[...]
        while let character = rest.popFirst() {
            switch character {
            case "%" where rest.first == "%":
                rest.removeFirst()
                append("%")
            case "%":
                if let piece = Self.piece(&rest) { pieces.append(piece) } else { append("%") }
            case "\\":
                let escaped = rest.popFirst()
                append(escaped.flatMap { Self.escapes[$0] } ?? "\\" + (escaped.map(String.init) ?? ""))
            default: append(String(character))
            }
        }
    }

    private static let escapes: [Character: String] = ["n": "\n", "r": "\r", "t": "\t"]

    private mutating func append(_ text: String) {
        if case .text(let last)? = pieces.last {
            pieces[pieces.count - 1] = .text(last + text)
        } else {
            pieces.append(.text(text))
        }
    }

    /// Parses what follows a percent sign; `nil` if that is only text.
    private static func piece(_ rest: inout Substring) -> Piece? {
        for (keyword, make) in [("{", variable), ("header{", Piece.field), ("output{", file)] where rest.hasPrefix(keyword) {
            let text = rest.dropFirst(keyword.count)
            guard let end = text.firstIndex(of: "}") else { return nil }
            rest = text[text.index(after: end)...]
            return make(String(text[..<end]))
        }
        return nil
    }

    private static func variable(_ name: String) -> Piece {
        switch name {
        case "stdout": .standardOutput
        case "stderr": .standardError
        case "onerror": .onError
        default: .variable(name)
        }
    }

    private static func file(_ path: String) -> Piece {
        path.hasPrefix(">>") ? .file(path: String(path.dropFirst(2)), appends: true) : .file(path: path, appends: false)
    }

    /// The variables of the text that do not exist.
    var unknownVariables: [String] {
        pieces.compactMap { if case .variable(let name) = $0, !WriteOutValues.isVariable(name) { name } else { nil } }
    }
}
