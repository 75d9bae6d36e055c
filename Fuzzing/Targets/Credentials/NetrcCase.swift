// SPDX-License-Identifier: Apache-2.0

@_spi(Fuzzing) import PortolanCore

/// Parses a netrc file. An error must name a line of the file. Entries must stay the same when they are written with
/// quotes and parsed again, also after a comment and a macro.
enum NetrcCase {
    static func check(_ input: [UInt8]) throws(FuzzFinding) {
        switch NetrcFuzzing.parse(input) {
        case .malformed(let line):
            let lineCount = input.count { $0 == UInt8(ascii: "\n") } + 1
            try require((1...lineCount).contains(line), "the error is in line \(line) of \(lineCount)")
        case .entries(let entries):
            let text = "# comment\nmacdef m\nmachine wrong\n\n" + entries.map(Self.text).joined()
            let reparsedFile = NetrcFuzzing.parse(Array(text.utf8))
            try require(reparsedFile == .entries(entries), "\(text.debugDescription) was parsed as \(reparsedFile) instead of \(entries)")
        }
    }

    private static func text(of entry: NetrcFuzzing.Entry) -> String {
        var text = entry.machine.map { "machine \(quoted($0))" } ?? "default"
        if let user = entry.user { text += " login \(quoted(user))" }
        if let password = entry.password { text += "\tpassword\n\(quoted(password))" }
        return text + "\n"
    }

    private static func quoted(_ word: String) -> String {
        let escapes: [Unicode.Scalar: String] = ["\n": "\\n", "\r": "\\r", "\t": "\\t", "\"": "\\\"", "\\": "\\\\"]
        return "\"" + word.unicodeScalars.map { escapes[$0] ?? String($0) }.joined() + "\""
    }
}
