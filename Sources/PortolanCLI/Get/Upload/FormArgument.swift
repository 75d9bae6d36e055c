// SPDX-License-Identifier: Apache-2.0

import PortolanFileSystem

/// A part of a `multipart/form-data` body, as `-F` describes it.
///
///     name=text
///     name=<file          the text of a file
///     name=@file          a file; - is standard input
///     name=@a,b           several files
///
/// The attributes `;type=MIME`, `;filename=NAME` and `;headers=LINE` can follow, with values in quotation marks if they
/// contain a semicolon or a comma.
struct FormArgument: Equatable {
    enum Source: Equatable {
        case text(String)
        /// The text of a file, without a file name.
        case contents(of: String)
        case file(String)
    }

    struct Part: Equatable {
        let name: String
        var source: Source
        var filename: String?
        var type: String?
        /// Further fields, `Name: value`.
        var headers: [String] = []
    }

    let parts: [Part]

    /// A part with a text that has no attributes (`--form-string`).
    ///
    /// - Returns: `nil` if the text has no `=`.
    init?(literal argument: String) {
        guard let equals = argument.firstIndex(of: "=") else { return nil }
        parts = [Part(name: String(argument[..<equals]), source: .text(String(argument[argument.index(after: equals)...])))]
    }

    /// - Returns: `nil` if the argument is not in this syntax.
    init?(_ argument: String) {
        guard let equals = argument.firstIndex(of: "=") else { return nil }
        let name = String(argument[..<equals])
        var rest = argument[argument.index(after: equals)...]
        var parts: [Part] = []
        let mark = rest.first
        if mark == "@" || mark == "<" {
            repeat {
                rest.removeFirst()
                guard let path = Self.word(&rest, endingAt: mark == "@" ? ";," : ";"), !path.isEmpty else { return nil }
                var part = Part(name: name, source: mark == "@" ? .file(path) : .contents(of: path))
                if mark == "@" { part.filename = path == "-" ? "-" : FileSystem.split(path).name }
                guard Self.addAttributes(&rest, to: &part) else { return nil }
                parts.append(part)
            } while mark == "@" && rest.first == ","
        } else {
            guard let text = Self.word(&rest, endingAt: ";") else { return nil }
            var part = Part(name: name, source: .text(text))
            guard Self.addAttributes(&rest, to: &part) else { return nil }
            parts.append(part)
        }
        guard rest.isEmpty else { return nil }
        self.parts = parts
    }

    /// Reads the attributes up to a comma or the end.
    private static func addAttributes(_ rest: inout Substring, to part: inout Part) -> Bool {
        while rest.first == ";" {
            rest = rest.dropFirst().drop { $0 == " " }
            let name = rest.prefix { $0 != "=" }
            rest = rest[name.endIndex...].dropFirst()
            switch name.lowercased() {
            case "type":
                // Parameters of the type follow, too, as in `text/html;charset=utf-8`.
                guard var value = word(&rest, endingAt: ";,") else { return false }
                while rest.first == ";", !["type=", "filename=", "headers=", "encoder="].contains(where: { isAttribute($0, rest) }) {
                    rest.removeFirst()
                    guard let parameter = word(&rest, endingAt: ";,") else { return false }
                    value += ";\(parameter)"
                }
                part.type = value
            case "filename":
                guard let value = word(&rest, endingAt: ";,") else { return false }
                part.filename = value
            case "headers":
                guard let value = word(&rest, endingAt: ";,") else { return false }
                part.headers.append(value)
            default: return false
            }
        }
        return true
    }

    private static func isAttribute(_ name: String, _ rest: Substring) -> Bool {
        rest.dropFirst().drop { $0 == " " }.lowercased().hasPrefix(name)
    }

    /// Reads a word up to one of the characters, or a text in quotation marks.
    ///
    /// - Returns: `nil` if the second quotation mark is missing.
    private static func word(_ rest: inout Substring, endingAt ends: String) -> String? {
        guard rest.first == "\"" else {
            let word = rest.prefix { !ends.contains($0) }
            rest = rest[word.endIndex...]
            return String(word)
        }
        var word = ""
        rest.removeFirst()
        while let character = rest.popFirst() {
            switch character {
            case "\"":
                rest = rest.drop { $0 == " " }
                return word
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                word += escaped == "\"" || escaped == "\\" ? String(escaped) : "\\\(escaped)"
            default: word.append(character)
            }
        }
        return nil
    }
}

extension FormArgument.Part {
    /// The type of the part: the given one or, for a file, the type for its name; otherwise `nil`.
    var mimeType: String? {
        if let type { return type }
        guard case .file = source, let filename else { return nil }
        let suffix = filename.split(separator: ".").last.map { $0.lowercased() } ?? ""
        return Self.types[suffix] ?? "application/octet-stream"
    }

    private static let types = [
        "gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "svg": "image/svg+xml", "txt": "text/plain",
        "htm": "text/html", "html": "text/html", "pdf": "application/pdf", "xml": "application/xml",
    ]
}
