// SPDX-License-Identifier: Apache-2.0

/// The first line of a response.
///
/// Lenient: several blanks can separate the parts, the reason can be missing, and the status can have any three digits.
///
/// RFC 9112 §4
struct StatusLine {
    let minorVersion: Int
    let status: Int
    let reason: String

    init(parsing line: Span<UInt8>) throws(ResponseSyntaxError) {
        guard Self.canContinue(0, with: line) else { throw ResponseSyntaxError(.notHTTP, line) }
        // "HTTP/1.x" and the blank
        guard line.count > 8, line[5].isDecimalDigit, line[6] == UInt8(ascii: "."), line[7].isDecimalDigit, line[8].isBlank else {
            throw ResponseSyntaxError(.statusLine, line)
        }
        guard line[5] == UInt8(ascii: "1") else { throw ResponseSyntaxError(.version, line) }
        minorVersion = line[7] == UInt8(ascii: "0") ? 0 : 1
        var start = 9
        while start < line.count, line[start].isBlank { start += 1 }
        let end = start + 3
        guard end <= line.count, line[start].isDecimalDigit, line[start + 1].isDecimalDigit, line[start + 2].isDecimalDigit,
            end == line.count || line[end].isBlank
        else { throw ResponseSyntaxError(.statusLine, line) }
        status = Int(line[start] &- 0x30) * 100 + Int(line[start + 1] &- 0x30) * 10 + Int(line[start + 2] &- 0x30)
        let phrase = line.extracting(line.trimmed(end..<line.count))
        for index in phrase.indices where phrase[index] == 0 || phrase[index] == .carriageReturn {
            throw ResponseSyntaxError(.statusLine, line)
        }
        reason = phrase.latin1Text
    }

    /// Whether `octets` can follow the first `count` octets of a status line. Those first octets were checked before.
    static func canContinue(_ count: Int, with octets: Span<UInt8>) -> Bool {
        let name: StaticString = "HTTP/"
        let checkedCount = max(0, min(octets.count, name.utf8CodeUnitCount - count))
        for index in 0..<checkedCount where unsafe octets[index] != name.utf8Start[count + index] { return false }
        return true
    }
}
