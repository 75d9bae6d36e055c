// SPDX-License-Identifier: Apache-2.0

/// The syntax of a config file (`-K`), as in curl: an option in each line, with or without its hyphens, then a blank,
/// `=` or `:`, and the value. A value in quotation marks can have blanks and the escapes `\\`, `\"`, `\t`, `\n`, `\r`
/// and `\v`. A line that begins with `#` is a comment.
///
///     url = "https://example.org/"
///     -o out
///     header = "Accept: text/plain"
enum ConfigFile {
    /// - Parameter warn: receives a warning about a value that no option takes. Messages contain no values, because
    ///   these can be secret.
    /// - Throws: ``Failure`` that names the line.
    static func tokens(of text: String, path: String, warn: (String) -> Void = { _ in }) throws(Failure) -> [ArgumentToken] {
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
            let place = "-K: line \(index + 1) of '\(path)'"
            var lineTokens = ArgumentToken.tokens(of: [option])
            guard case .option(let lastName, let joinedValue)? = lineTokens.last else {
                throw Failure(.usage, "\(place) is not an option; write its name first, as in 'url = http://h/'")
            }
            let hasValue = !value.isEmpty || rest.hasPrefix("\"")
            if hasValue, joinedValue == nil, GetCommand.optionsWithValue.contains(lastName) {
                lineTokens[lineTokens.count - 1] = .option(lastName, value)
            } else if hasValue {
                warn("\(place): the text after the option is ignored")
            }
            // A line never takes its value from the next one.
            if let name = lineTokens.last?.nameOfOptionWithoutValue { throw Failure(.usage, "\(place): '\(name)' needs a value after it") }
            tokens += lineTokens
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
