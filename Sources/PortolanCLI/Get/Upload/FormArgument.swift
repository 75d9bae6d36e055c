// SPDX-License-Identifier: Apache-2.0

import PortolanContent
import PortolanFileSystem

/// A part of a `multipart/form-data` body, as `-F` describes it.
///
///     name=text
///     name=<file          the text of a file
///     name=@file          a file; - is standard input
///     name=@a,b           several files
///     name=(              a multipart body, of the parts that follow, up to `=)`
///
/// The attributes `;type=MIME`, `;filename=NAME`, `;headers=LINE` and `;encoder=NAME` can follow, with values in
/// quotation marks if they contain a semicolon or a comma.
struct FormArgument: Equatable {
    enum Source: Equatable {
        case text(String)
        /// The text of a file, without a file name.
        case contents(of: String)
        case file(String)
        /// The parts that follow, up to ``multipartEnd``.
        case multipart
        case multipartEnd
    }

    struct Part: Equatable {
        /// Empty for a part without a name.
        let name: String
        var source: Source
        var filename: String?
        var type: String?
        /// Further fields, `Name: value`.
        var headers: [String] = []
        /// The name of a content transfer encoding.
        var encoder: String?
        /// Whether the argument has a text without a meaning, such as an unknown attribute.
        var hasIgnoredText = false
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
        if name.isEmpty, rest == ")" {
            parts = [Part(name: "", source: .multipartEnd)]
            return
        }
        var parts: [Part] = []
        let mark = rest.first
        let end: Character? = mark == "@" ? "," : nil
        repeat {
            if mark == "@" || mark == "<" || mark == "(" { rest.removeFirst() }
            guard let text = Self.word(&rest, endingAt: end) else { return nil }
            var part = Part(name: name, source: .text(text))
            switch mark {
            case "@":
                part.source = .file(text)
                part.filename = text == "-" ? "-" : FileSystem.split(text).name
            case "<": part.source = .contents(of: text)
            case "(": (part.source, part.hasIgnoredText) = (.multipart, !text.isEmpty)
            default: break
            }
            if text.isEmpty, mark == "@" || mark == "<" { return nil }
            guard Self.addAttributes(&rest, to: &part, endingAt: end) else { return nil }
            parts.append(part)
        } while mark == "@" && rest.first == ","
        guard rest.isEmpty else { return nil }
        self.parts = parts
    }

    private static let attributes = ["type=", "filename=", "headers=", "encoder="]

    /// Reads the attributes up to `end`.
    private static func addAttributes(_ rest: inout Substring, to part: inout Part, endingAt end: Character?) -> Bool {
        while rest.first == ";" {
            rest = rest.dropFirst().drop(while: isBlank)
            let attribute = attributes.first { isAttribute($0, rest) }
            rest = rest.dropFirst(attribute?.count ?? 0)
            if attribute == "type=" {
                part.type = mimeType(&rest, endingAt: end)
                continue
            }
            guard let value = word(&rest, endingAt: end) else { return false }
            switch attribute {
            case "filename=" where part.canHaveFilename: part.filename = value
            case "headers=": part.headers.append(value)
            case "encoder=" where part.source != .multipart: part.encoder = value
            default: part.hasIgnoredText = part.hasIgnoredText || !value.isEmpty
            }
        }
        return true
    }

    /// Reads a type with its parameters, as in `text/html;charset=utf-8`.
    private static func mimeType(_ rest: inout Substring, endingAt end: Character?) -> String {
        let text = rest
        while true {
            rest = rest.drop { $0 != ";" && $0 != end }
            let next = rest.dropFirst().drop(while: isBlank)
            guard rest.first == ";", !attributes.dropFirst().contains(where: { isAttribute($0, next) }) else { break }
            rest.removeFirst()
        }
        return trimmed(text[..<rest.startIndex])
    }

    private static func isAttribute(_ name: String, _ rest: Substring) -> Bool { rest.prefix(name.count).lowercased() == name }

    private static func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }

    /// Returns the text without the blanks at its start, and the blanks and line breaks at its end.
    private static func trimmed(_ text: Substring) -> String {
        var text = text.drop(while: isBlank)
        while let last = text.last, last.isASCII, last.isWhitespace { text.removeLast() }
        return String(text)
    }

    /// Reads a word up to `;` or `end`, or a text in quotation marks. As in curl, blanks around a word are no part of
    /// it, and a quotation mark without a second one stands for itself.
    ///
    /// - Returns: `nil` if a text follows the second quotation mark.
    private static func word(_ rest: inout Substring, endingAt end: Character?) -> String? {
        if let (text, remainder) = quotedText(rest.drop(while: isBlank)) {
            rest = remainder.drop(while: isBlank)
            return rest.isEmpty || rest.first == ";" || rest.first == end ? text : nil
        }
        let word = rest.prefix { $0 != ";" && $0 != end }
        rest = rest[word.endIndex...]
        return trimmed(word)
    }

    /// Reads a text in quotation marks.
    ///
    /// - Returns: the text and what follows it; `nil` if there are no two quotation marks.
    private static func quotedText(_ source: Substring) -> (text: String, remainder: Substring)? {
        guard source.first == "\"" else { return nil }
        var (text, rest) = ("", source.dropFirst())
        while let character = rest.popFirst() {
            switch character {
            case "\"": return (text, rest)
            case "\\":
                guard let escaped = rest.popFirst() else { return nil }
                text += escaped == "\"" || escaped == "\\" ? String(escaped) : "\\\(escaped)"
            default: text.append(character)
            }
        }
        return nil
    }

    /// The disposition of the parts of a body. As in curl, the parts of another body than a form are attachments.
    static func disposition(inBodyOfType type: String) -> MultipartForm.Disposition {
        let name = type.prefix { $0 != ";" && $0 != " " && $0 != "\t" }
        return name.lowercased() == "multipart/form-data" ? .formData : .attachment
    }
}

extension FormArgument.Part {
    /// Whether the text or the file can have a name.
    fileprivate var canHaveFilename: Bool {
        switch source {
        case .text, .file: true
        case .contents, .multipart, .multipartEnd: false
        }
    }

    /// The media type of the part: the given one, or the type for the extension of its file name or of the path of its
    /// file. A multipart body without a given type is `multipart/mixed`.
    var mimeType: String? {
        if let type { return type }
        let typeOfName = filename.flatMap(Self.type(ofFile:))
        switch source {
        case .text, .file("-"): return typeOfName
        case .file(let path): return typeOfName ?? Self.type(ofFile: path) ?? "application/octet-stream"
        case .contents(of: let path):
            let type = Self.type(ofFile: path)
            return type == "text/plain" ? nil : type
        case .multipart: return "multipart/mixed"
        case .multipartEnd: return nil
        }
    }

    private static func type(ofFile path: String) -> String? {
        guard let dot = path.lastIndex(of: ".") else { return nil }
        return types[path[path.index(after: dot)...].lowercased()]
    }

    private static let types = [
        "gif": "image/gif", "jpg": "image/jpeg", "jpeg": "image/jpeg", "png": "image/png", "svg": "image/svg+xml", "txt": "text/plain",
        "htm": "text/html", "html": "text/html", "pdf": "application/pdf", "xml": "application/xml",
    ]
}
