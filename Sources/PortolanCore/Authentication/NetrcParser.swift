// SPDX-License-Identifier: Apache-2.0

/// Parses the text of a netrc file as curl does, but malformed text is an error, as in Python's netrc module.
///
/// Words are separated by white space. `#` at the start of a word begins a comment that ends with the line. A word that
/// begins with `"` ends at the next `"`, and in it `\n`, `\r`, `\t`, `\"` and `\\` stand for other characters. A macro
/// (`macdef`) ends at the next empty line, and is ignored, as is `account`. Mail programs also write `port`: such an
/// entry applies to this port only.
///
/// curl ignores `port` and unknown words. Here unknown words are an error, because they are often the rest of a
/// password with a blank.
///
/// curl's lib/netrc.c; ftp(1)
struct NetrcParser {
    /// The entry of one machine.
    struct Entry {
        /// The host; `nil` for the default entry, which applies to each host.
        let machine: String?
        var user: String?
        var password: SecretText?
        /// The only port to which the entry applies; `nil` for all ports; -1 for the name of a service, which matches
        /// no port of a URL.
        var port: Int?
    }

    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private(set) var entries: [Entry] = []

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Parses the whole file.
    ///
    /// - Throws: ``NetrcSyntaxError`` for a quoted word that does not end in its line, an unknown word, a keyword
    ///   without its value, a NUL, and bytes that are not UTF-8.
    static func parse(_ bytes: [UInt8]) throws(NetrcSyntaxError) -> [Entry] {
        var parser = NetrcParser(bytes)
        while let word = try parser.nextWord() { try parser.parseKeyword(word) }
        return parser.entries
    }

    private mutating func parseKeyword(_ word: String) throws(NetrcSyntaxError) {
        switch word.lowercased() {
        case "machine": entries.append(Entry(machine: try value().lowercased()))
        case "default": entries.append(Entry(machine: nil))
        case "login":
            let user = try value()
            setInLastEntry { $0.user = user }
        case "password":
            let password = SecretText(try value())
            setInLastEntry { $0.password = password }
        case "account": _ = try value()
        case "port":
            // The name of a service, such as imaps, is not the port of a URL.
            let port = Int(try value()) ?? -1
            if let last = entries.indices.last { entries[last].port = port }
        case "macdef": skipMacro()
        default: throw NetrcSyntaxError(line: line, problem: .unknownWord)
        }
    }

    /// Returns the word after a keyword.
    private mutating func value() throws(NetrcSyntaxError) -> String {
        let keywordLine = line
        guard let word = try nextWord() else { throw NetrcSyntaxError(line: keywordLine, problem: .missingValue) }
        return word
    }

    /// Changes the last entry, unless it already has a user and a password, because curl then ignores further keywords
    /// of the entry.
    private mutating func setInLastEntry(_ change: (inout Entry) -> Void) {
        guard let last = entries.indices.last, entries[last].user == nil || entries[last].password == nil else { return }
        change(&entries[last])
    }

    private mutating func nextWord() throws(NetrcSyntaxError) -> String? {
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "#"): skipLine()
            case UInt8(ascii: "\n"):
                line += 1
                position += 1
            case let byte where Self.isSpace(byte): position += 1
            case UInt8(ascii: "\""): return try text(quotedWord())
            default: return try text(plainWord())
            }
        }
        return nil
    }

    private func text(_ word: [UInt8]) throws(NetrcSyntaxError) -> String {
        guard let text = String(validating: word, as: UTF8.self) else { throw NetrcSyntaxError(line: line, problem: .notUTF8) }
        return text
    }

    private mutating func plainWord() throws(NetrcSyntaxError) -> [UInt8] {
        let start = position
        while position < bytes.count, !Self.isSpace(bytes[position]) {
            if bytes[position] == 0 { throw NetrcSyntaxError(line: line, problem: .nul) }
            position += 1
        }
        return Array(bytes[start..<position])
    }

    private mutating func quotedWord() throws(NetrcSyntaxError) -> [UInt8] {
        position += 1
        var word: [UInt8] = []
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n"), bytes[position] != 0 {
            var byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "\"") { return word }
            if byte == UInt8(ascii: "\\") {
                guard position < bytes.count, bytes[position] != UInt8(ascii: "\n"), bytes[position] != 0 else { break }
                byte = Self.unescaped(bytes[position])
                position += 1
            }
            word.append(byte)
        }
        throw NetrcSyntaxError(line: line, problem: position < bytes.count && bytes[position] == 0 ? .nul : .unterminatedQuote)
    }

    private static func unescaped(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "n"): UInt8(ascii: "\n")
        case UInt8(ascii: "r"): UInt8(ascii: "\r")
        case UInt8(ascii: "t"): UInt8(ascii: "\t")
        default: byte
        }
    }

    private mutating func skipLine() {
        while position < bytes.count, bytes[position] != UInt8(ascii: "\n") { position += 1 }
    }

    /// Skips the name and the lines of a macro, with the empty line at its end.
    private mutating func skipMacro() {
        repeat {
            skipLine()
            guard position < bytes.count else { return }
            position += 1
            line += 1
        } while position < bytes.count && bytes[position] != UInt8(ascii: "\n") && bytes[position] != UInt8(ascii: "\r")
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

/// Why a netrc file can't be parsed. Quotes nothing from the file, because the file contains passwords.
package struct NetrcSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Problem: Hashable, Sendable { case unterminatedQuote, unknownWord, missingValue, notUTF8, nul }

    package let line: Int
    package let problem: Problem

    package var description: String {
        switch problem {
        case .unterminatedQuote: "line \(line): a word that begins with a quotation mark does not end with one"
        case .unknownWord:
            "line \(line): a word is none of machine, default, login, password, account, port and macdef; put a value that contains blanks "
                + "in quotation marks"
        case .missingValue: "line \(line): the last word needs a value after it"
        case .notUTF8: "line \(line): there are bytes that are not UTF-8; convert the file"
        case .nul: "line \(line): there is a NUL; this is not a text file"
        }
    }
}
