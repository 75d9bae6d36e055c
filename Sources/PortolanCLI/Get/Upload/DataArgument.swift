// SPDX-License-Identifier: Apache-2.0

import Portolan
import PortolanCore

/// The data of `-d`, `--data-binary`, `--data-raw`, `--data-urlencode` or `--json`.
struct DataArgument: Equatable {
    enum Kind: String {
        /// Text; `@FILE` is the text of a file, without its line breaks and NULs.
        case data
        /// Text; `@FILE` is a file, unchanged.
        case binary
        /// Text, also if it begins with `@`.
        case raw
        /// Percent-encoded text, or a percent-encoded file.
        case urlencode
        /// As `binary`. The parts of a JSON text are joined without `&`.
        case json
    }

    let kind: Kind
    let text: String

    init(_ kind: Kind, _ text: String) { (self.kind, self.text) = (kind, text) }

    init?(_ argument: TaggedArgument) {
        guard let kind = Kind(rawValue: argument.kind) else { return nil }
        self.init(kind, argument.value)
    }

    /// Where the bytes come from.
    enum Source: Equatable {
        case text(String)
        /// - Parameters:
        ///   - prefix: the text before the bytes of the file.
        ///   - change: what happens to the bytes of the file.
        case file(path: String, prefix: String, change: Change)
    }

    enum Change: Equatable { case none, removesLineBreaks, encodes }

    var source: Source {
        switch kind {
        case .raw: return .text(text)
        case .data, .binary, .json:
            guard text.hasPrefix("@") else { return .text(text) }
            return .file(path: String(text.dropFirst()), prefix: "", change: kind == .data ? .removesLineBreaks : .none)
        case .urlencode:
            guard let mark = text.firstIndex(where: { $0 == "=" || $0 == "@" }) else { return .text(Self.encoded(Array(text.utf8))) }
            let (name, rest) = (text[..<mark], String(text[text.index(after: mark)...]))
            let prefix = name.isEmpty ? "" : "\(name)="
            if text[mark] == "@" { return .file(path: rest, prefix: prefix, change: .encodes) }
            return .text(prefix + Self.encoded(Array(rest.utf8)))
        }
    }

    /// Percent-encodes all bytes other than letters, digits and `-._~`. A space becomes `+`, as in a form.
    static func encoded(_ bytes: [UInt8]) -> String {
        var text = ""
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: " "): text += "+"
            default: text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }

    /// Whether `&` separates this data from the data before it.
    var isSeparated: Bool { kind != .json }
}
