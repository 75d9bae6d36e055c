// SPDX-License-Identifier: Apache-2.0

/// The syntax of a config file (`-K`), as in curl: an option in each line, with or without its hyphens, then a blank,
/// `=` or `:`, and the value. A value in quotation marks can have blanks and the escapes `\\`, `\"`, `\t`, `\n`, `\r`
/// and `\v`. A line that begins with `#` is a comment.
///
///     url = "https://example.org/"
///     -o out
///     header = "Accept: text/plain"
enum ConfigFile {
    /// - Throws: ``Failure`` that names the line.
    static func tokens(of text: String, path: String) throws(Failure) -> [ArgumentToken] {
        var tokens: [ArgumentToken] = []
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.drop { $0 == " " || $0 == "\t" }
            guard let first = line.first, first != "#" else { continue }
            let hasHyphen = first == "-"
            func separates(_ character: Character) -> Bool {
                character == " " || character == "\t" || !hasHyphen && (character == "=" || character == ":")
            }
            let name = line.prefix { !separates($0) }
            let rest = line[name.endIndex...].drop { separates($0) || $0 == "=" || $0 == ":" }
            let option = hasHyphen ? String(name) : "--\(name)"
            guard let value = value(in: rest) else {
                throw Failure(.usage, "-K: line \(index + 1) of '\(path)' has a quotation mark without a second one; add it")
            }
            tokens += ArgumentToken.tokens(of: value.isEmpty && !rest.hasPrefix("\"") ? [option] : [option, value])
        }
        return tokens
    }

    /// - Returns: `nil` if the second quotation mark is missing.
    private static func value(in text: Substring) -> String? {
        guard text.first == "\"" else { return String(text.prefix { $0 != " " && $0 != "\t" }) }
        var value = ""
        var rest = text.dropFirst()
        while let character = rest.popFirst() {
            if character == "\"" { return value }
            guard character == "\\", let escaped = rest.popFirst() else {
                value.append(character)
                continue
            }
            value.append(escapes[escaped] ?? escaped)
        }
        return nil
    }

    private static let escapes: [Character: Character] = ["t": "\t", "n": "\n", "r": "\r", "v": "\u{0B}"]
}
