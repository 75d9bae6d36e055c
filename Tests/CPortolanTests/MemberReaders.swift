// SPDX-License-Identifier: Apache-2.0

/// Reads the members of a protocol from Swift source, as `name` or `name(label:_:)`. Supports only the syntax that the
/// protocols of this package use.
enum SwiftMembers {
    static func of(protocol name: String, in source: String) -> [String] {
        guard let body = Source.body(after: "protocol \(name)", in: Source.withoutComments(source)) else { return [] }
        return body.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ", maxSplits: 1)
            guard words.count == 2 else { return nil }
            switch words[0] {
            case "var": return String(words[1].prefix { $0 != ":" })
            case "func": return signature(words[1])
            default: return nil
            }
        }
    }

    private static func signature(_ text: Substring) -> String {
        let name = text.prefix { $0 != "(" }
        let parameters = Source.split(Source.parenthesised(text.dropFirst(name.count)), at: ",")
        let labels = parameters.map { parameter in parameter.drop { $0 == " " }.prefix { $0 != " " && $0 != ":" } + ":" }
        return "\(name)(\(labels.joined()))"
    }
}

/// Reads the members of a struct from a C header.
enum CMembers {
    static func of(structure name: String, in source: String) -> [String] {
        guard let body = Source.body(after: "struct \(name) {", in: Source.withoutComments(source)) else { return [] }
        return Source.split(Substring(body), at: ";").flatMap { declaration -> [String] in
            if let pointer = declaration.firstRange(of: "(*") {
                let pointerText = declaration[pointer.upperBound...].prefix { $0 != ")" }
                return pointerText.split { $0 == " " || $0 == "*" }.last.map { [String($0)] } ?? []
            }
            return Source.split(declaration, at: ",").compactMap { $0.split { " *\n".contains($0) }.last.map(String.init) }
        }
    }
}

private enum Source {
    static func withoutComments(_ source: String) -> String {
        var result = ""
        var remainingSource = Substring(source)
        while let start = remainingSource.firstIndex(of: "/") {
            result += remainingSource[..<start]
            remainingSource = remainingSource[start...]
            if remainingSource.hasPrefix("//") {
                remainingSource = remainingSource.drop { $0 != "\n" }
            } else if remainingSource.hasPrefix("/*"), let end = remainingSource.firstRange(of: "*/") {
                remainingSource = remainingSource[end.upperBound...]
            } else {
                result.append(remainingSource.removeFirst())
            }
        }
        return result + remainingSource
    }

    /// Returns the text between the braces that follow `heading`.
    static func body(after heading: String, in source: String) -> String? {
        guard let headingRange = source.firstRange(of: heading) else { return nil }
        let start = heading.hasSuffix("{") ? source.index(before: headingRange.upperBound) : headingRange.upperBound
        var depth = 0
        var body = ""
        for character in source[start...] {
            if character == "}" { depth -= 1 }
            if depth > 0 { body.append(character) }
            if character == "{" { depth += 1 }
            if character == "}" && depth == 0 { return body }
        }
        return nil
    }

    /// Returns the text between the parenthesis at the start of `text` and the matching one.
    static func parenthesised(_ text: Substring) -> Substring {
        var depth = 0
        for index in text.indices {
            if text[index] == "(" { depth += 1 }
            if text[index] == ")" { depth -= 1 }
            if depth == 0 { return text[..<index].dropFirst() }
        }
        return ""
    }

    /// Splits at separators outside parentheses and drops blank pieces.
    static func split(_ text: Substring, at separator: Character) -> [Substring] {
        var depth = 0
        return text.split { character in
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            return depth == 0 && character == separator
        }
        .filter { $0.contains { !$0.isWhitespace } }
    }
}
