// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// Hosts in the file format of curl. Each line has the name of a host, and the expiration time in UTC or `unlimited`. A
/// dot before the name means that the subdomains are included.
///
///     .example.com "20271125 20:00:00"
///
/// Lines that begin with `#` are comments. Any other form is malformed, also one that curl reads.
package enum HSTSFile {
    /// The largest file that is read, in bytes.
    package static let sizeLimit = 64 << 20

    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }()

    /// Returns the hosts, and the numbers of the malformed lines. The first line has number 1.
    package static func parse(_ bytes: [UInt8]) -> (hosts: [HSTSStorage.Host], malformedLineNumbers: [Int]) {
        var (hosts, malformedLineNumbers): ([HSTSStorage.Host], [Int]) = ([], [])
        for (index, line) in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let text = String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
            if text.hasPrefix("#") || text.allSatisfy({ $0 == " " || $0 == "\t" }) { continue }
            if let host = host(text) { hosts.append(host) } else { malformedLineNumbers.append(index + 1) }
        }
        return (hosts, malformedLineNumbers)
    }

    private static func host(_ line: String) -> HSTSStorage.Host? {
        let parts = line.split(maxSplits: 1) { $0 == " " || $0 == "\t" }
        guard parts.count == 2, let quoted = quotedText(parts[1]) else { return nil }
        let expiryText = String(quoted)
        let includesSubdomains = parts[0].hasPrefix(".")
        let name = String(includesSubdomains ? parts[0].dropFirst() : parts[0])
        guard isName(name) else { return nil }
        if expiryText == "unlimited" { return .init(name: name, includesSubdomains: includesSubdomains) }
        guard let expiry = date(expiryText) else { return nil }
        return .init(name: name, includesSubdomains: includesSubdomains, expiry: expiry)
    }

    /// Returns the text between quotation marks, if only blanks are around them.
    private static func quotedText(_ text: Substring) -> Substring? {
        let isBlank = { (character: Character) in character == " " || character == "\t" }
        let text = text.drop(while: isBlank)
        guard text.first == "\"", let end = text.dropFirst().firstIndex(of: "\""), text[end...].dropFirst().allSatisfy(isBlank)
        else { return nil }
        return text[..<end].dropFirst()
    }

    /// Whether a name can be the host of a URL and is no IP address (RFC 6797 §8.1.1). The maximum lengths are those of
    /// RFC 1035 §2.3.4.
    private static func isName(_ name: String) -> Bool {
        let labels = (name.hasSuffix(".") ? name.dropLast() : name[...]).split(separator: ".", omittingEmptySubsequences: false)
        guard name.utf8.count <= 254, HSTSStorage.canonicalName(name) != nil else { return false }
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count) && label.utf8.allSatisfy(isNameByte)
        }
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Parses a time in UTC, such as `20271125 20:00:00`.
    private static func date(_ text: String) -> Date? {
        let characters = [UInt8](text.utf8)
        guard characters.count == 17, characters[8] == 0x20, characters[11] == 0x3A, characters[14] == 0x3A else { return nil }
        let digits = characters.enumerated().filter { ![8, 11, 14].contains($0.offset) }.map { $0.element &- 0x30 }
        guard digits.allSatisfy({ $0 < 10 }) else { return nil }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + Int($1) } }
        var parts = DateComponents()
        (parts.year, parts.month, parts.day) = (number(0..<4), number(4..<6), number(6..<8))
        (parts.hour, parts.minute, parts.second) = (number(8..<10), number(10..<12), number(12..<14))
        guard (1...12).contains(number(4..<6)), (1...31).contains(number(6..<8)), number(8..<10) < 24, number(10..<12) < 60,
            number(12..<14) < 61
        else { return nil }
        return calendar.date(from: parts)
    }

    package static func bytes(of hosts: [HSTSStorage.Host]) -> [UInt8] {
        var text = "# Hosts with HTTP Strict Transport Security. Written by Portolan.\n"
        for host in hosts {
            text += "\(host.includesSubdomains ? "." : "")\(host.name) \"\(host.expiry.map(Self.text) ?? "unlimited")\"\n"
        }
        return Array(text.utf8)
    }

    private static func text(_ date: Date) -> String {
        let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date)
        func digits(_ number: Int?, _ width: Int) -> String {
            let text = String(number ?? 0)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        return digits(parts.year, 4) + digits(parts.month, 2) + digits(parts.day, 2) + " "
            + [parts.hour, parts.minute, parts.second].map { digits($0, 2) }.joined(separator: ":")
    }
}
